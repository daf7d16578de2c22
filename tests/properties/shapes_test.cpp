/// Chapter 02: tensors, and the fast matrix product.

#include "attest/certify/bounds.hpp"
#include "attest/tensor/blas.hpp"
#include "support/property.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

using rc::gen::inRange;

/// Any bits at all, so NaN, infinities and both zeros among them.
rc::Gen<double> any_double() {
  const auto bits =
      rc::gen::map(rc::gen::arbitrary<std::uint64_t>(), [](std::uint64_t b) { return std::bit_cast<double>(b); });
  return rc::gen::oneOf(bits, rc::gen::element(0.0, -0.0, std::nan(""), -std::numeric_limits<double>::infinity()));
}

rc::Gen<std::vector<double>> any_doubles(std::size_t n) {
  return rc::gen::container<std::vector<double>>(n, any_double());
}

PROPERTY(SHP_P1, reading_a_tabulated_tensor_gives_its_formula) {
  const std::size_t rows = *rc::gen::element<std::size_t>(0, 1, 2, 3, 4, 5);
  const std::size_t columns = *rc::gen::element<std::size_t>(0, 1, 2, 3, 4, 5);
  const std::vector<double> formula = *any_doubles(rows * columns);
  RC_CLASSIFY(formula.empty(), "no elements");
  const auto at = [&](std::size_t i, std::size_t j) { return formula[i * columns + j]; };
  const Matrix<double> matrix = tabulate(rows, columns, at);
  const Vector<double> vector = tabulate(formula.size(), [&](std::size_t i) { return formula[i]; });
  RC_ASSERT(matrix.shape(0) == rows);
  RC_ASSERT(matrix.shape(1) == columns);
  RC_ASSERT(vector.size() == formula.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      RC_ASSERT(same_bits(matrix(i, j), at(i, j)));
      RC_ASSERT(same_bits(row_of(matrix, i)[j], at(i, j)));
      RC_ASSERT(same_bits(vector(i * columns + j), at(i, j)));
    }
  }
}

/// A matrix of numbers of many magnitudes, exact in binary32.
rc::Gen<Matrix<double>> matrices(std::size_t rows, std::size_t columns) {
  const auto number = rc::gen::map(rc::gen::pair(inRange(-(1 << 24), (1 << 24) + 1), inRange(-30, 6)),
                                   [](std::pair<int, int> n) { return std::ldexp(n.first, n.second); });
  return rc::gen::exec([=] { return tabulate(rows, columns, [&](std::size_t, std::size_t) { return *number; }); });
}

template <Scalar T>
Matrix<T> in(const Matrix<double>& m) {
  return tabulate(m.shape(0), m.shape(1), [&](std::size_t i, std::size_t j) { return lift<T>(m(i, j)); });
}

template <std::floating_point T>
void products_are_within_the_bound(const Matrix<double>& a, const Matrix<double>& b, const FloatModel& model) {
  const Matrix<Enclosure> exact_a = in<Enclosure>(a), columns = in<Enclosure>(transpose(b));
  const Matrix<T> fast = blas_matmul(in<T>(a), in<T>(b));
  const Matrix<T> defined = matmul(in<T>(a), in<T>(b));
  for (std::size_t i = 0; i < a.shape(0); ++i) {
    for (std::size_t j = 0; j < b.shape(1); ++j) {
      const Enclosure exact = dot(row_of(exact_a, i), row_of(columns, j));
      const Enclosure bound = dot_bound(row_of(exact_a, i), row_of(columns, j), model);
      RC_ASSERT(is_narrow(exact));
      RC_ASSERT(within(fast(i, j), exact, bound));
      RC_ASSERT(within(defined(i, j), exact, bound));
    }
  }
}

PROPERTY(SHP_P2, blas_product_is_within_the_bound_of_the_definition) {
  const std::size_t inner = *rc::gen::element<std::size_t>(0, 1, 2, 3, 7, 8, 33);
  const Matrix<double> a = *matrices(*inRange<std::size_t>(1, 5), inner);
  const Matrix<double> b = *matrices(inner, *inRange<std::size_t>(1, 5));
  RC_CLASSIFY(inner == 0, "no products");
  RC_CLASSIFY(inner == 1, "one product");
  with_precision(property_bits, [&] {
    products_are_within_the_bound<double>(a, b, float_model(Format::f64));
    products_are_within_the_bound<float>(a, b, float_model(Format::f32));
  });
}

CONSTRAINT(SHP_C2, the_fast_product_refuses_unequal_inner_extents) {
  const Matrix<double> a = tabulate(2, 3, [](std::size_t, std::size_t) { return 1.0; });
  EXPECT_THROW(blas_matmul(a, a), Refused);
}

/// Some different positions of a row of length m, in any order.
rc::Gen<std::vector<std::size_t>> positions(std::size_t m) {
  return rc::gen::exec([m] {
    std::vector<std::size_t> picked;
    const std::vector<bool> visible = *visible_rows(m);
    for (std::size_t j = 0; j < m; ++j) {
      if (visible[j]) picked.insert(picked.begin() + *inRange<long>(0, picked.size() + 1), j);
    }
    return picked;
  });
}

PROPERTY(SHP_P3, scatter_after_gather_restores_visible_entries) {
  const std::size_t m = *rc::gen::element<std::size_t>(0, 1, 2, 4, 8);
  const std::vector<double> row = *any_doubles(m);
  const std::vector<std::size_t> picked = *positions(m);
  RC_CLASSIFY(picked.empty(), "nothing picked");
  RC_CLASSIFY(!std::ranges::is_sorted(picked), "out of order");
  const Vector<double> restored = scatter(gather(Row<double>(row), picked), picked, m);
  RC_ASSERT(restored.size() == m);
  for (std::size_t j = 0; j < m; ++j) {
    const bool is_picked = std::ranges::find(picked, j) != picked.end();
    RC_ASSERT(same_bits(restored(j), is_picked ? row[j] : 0.0));
  }
}

}  // namespace
}  // namespace attest
