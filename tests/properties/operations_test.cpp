/// Chapters 02 and 17: rows of a tensor, and the nodes beside attention that act on them.

#include <set>

#include "attest/certify/certify_node.hpp"
#include "attest/certify/operation_row.hpp"
#include "attest/definitions/norms.hpp"
#include "attest/definitions/softmax.hpp"
#include "attest/verdict/compare.hpp"
#include "support/property.hpp"
#include "support/reals.hpp"

namespace attest {
namespace {

/// A shape, and some consecutive axes of it.
struct ShapeAndAxes {
  Shape shape;
  std::size_t first, last;
};

rc::Gen<ShapeAndAxes> shapes_and_axes(const rc::Gen<std::size_t>& extents) {
  return rc::gen::exec([=] {
    const std::size_t rank = *between<std::size_t>(1, 5);
    const Shape shape = *rc::gen::container<Shape>(rank, extents);
    const std::size_t first = *between<std::size_t>(0, rank);
    return ShapeAndAxes{shape, first, *between<std::size_t>(first + 1, rank + 1)};
  });
}

PROPERTY(SHP_P4, rows_of_any_axes_cover_every_element_once) {
  const auto [shape, first, last] = *shapes_and_axes(rc::gen::element<std::size_t>(1, 2, 3, 2, 3, 3, 2, 0));
  const RowForm form = row_form(shape, first, last);
  const std::size_t count = element_count(shape);
  const std::size_t rows = form.width == 0 ? 0 : count / form.width;
  RC_CLASSIFY(count == 0, "no elements");
  RC_CLASSIFY(form.inner > 1, "rows that are no piece of the memory");
  std::set<std::size_t> places;
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<std::size_t> others;
    for (std::size_t c = 0; c < form.width; ++c) {
      const std::size_t place = element_of_row(form, row, c);
      RC_ASSERT(place < count);
      RC_ASSERT(places.insert(place).second);
      const std::vector<std::size_t> index = unravel(place, shape);
      std::size_t number = 0;
      for (std::size_t axis = first; axis < last; ++axis) number = number * shape[axis] + index[axis];
      RC_ASSERT(number == c);
      std::vector<std::size_t> rest(index);
      std::fill(rest.begin() + static_cast<std::ptrdiff_t>(first), rest.begin() + static_cast<std::ptrdiff_t>(last), 0);
      if (c == 0) others = rest;
      RC_ASSERT(rest == others);
    }
  }
  RC_ASSERT(places.size() == count);
}

/// Small integers, and often an infinity or NaN.
rc::Gen<double> operands() {
  const double infinity = std::numeric_limits<double>::infinity();
  const auto small = rc::gen::map(between(-3, 4), [](int n) { return static_cast<double>(n); });
  return rc::gen::oneOf(small, small, small, rc::gen::element(infinity, -infinity, std::nan(""), 0.0, -0.0));
}

rc::Gen<Tensor<double>> tensors_of(const Shape& shape, const rc::Gen<double>& numbers) {
  return rc::gen::exec([=] {
    Tensor<double> t = Tensor<double>::from_shape(shape);
    for (double& x : t) x = *numbers;
    return t;
  });
}

rc::Gen<RowOperation> softmax_operations(const rc::Gen<double>& numbers) {
  return rc::gen::exec([=] {
    const auto [shape, first, last] = *shapes_and_axes(between<std::size_t>(1, 4));
    return RowOperation{*tensors_of(shape, numbers), row_form(shape, first, last), SoftmaxRows{}};
  });
}

rc::Gen<RowOperation> rms_operations(const rc::Gen<double>& numbers) {
  return rc::gen::exec([=] {
    const auto [shape, first, last] = *shapes_and_axes(between<std::size_t>(1, 4));
    const double epsilon = *rc::gen::element(0.0, 0.25);
    const Tensor<double> x = *rc::gen::oneOf(tensors_of(shape, numbers), tensors_of(shape, rc::gen::just(0.0)));
    return RowOperation{x, row_form(shape, first, last), RmsNormRows{*tensors_of(shape, numbers), epsilon}};
  });
}

rc::Gen<RowOperation> rotary_operations(const rc::Gen<double>& numbers) {
  return rc::gen::exec([=] {
    const std::size_t pairs = *between<std::size_t>(0, 4), copied = *between<std::size_t>(0, 3);
    const std::size_t rows = *between<std::size_t>(1, 4), places = *between<std::size_t>(1, 4);
    const std::size_t width = std::max<std::size_t>(2 * pairs + copied, 1);
    RotaryRows rotary{*tensors_of({places, pairs}, numbers),
                      *tensors_of({places, pairs}, numbers),
                      {},
                      *rc::gen::element(Pairing::halves, Pairing::interleaved)};
    rotary.places = *rc::gen::container<std::vector<std::size_t>>(rows, between<std::size_t>(0, places));
    return RowOperation{*tensors_of({rows, width}, numbers), RowForm{width, 1}, rotary};
  });
}

/// The row by its definition, in an arithmetic T.
template <class T>
Vector<T> in(const Vector<double>& row) {
  return tabulate(row.size(), [&](std::size_t c) { return lift<T>(row(c)); });
}

template <class T>
Vector<T> defined(const RowOperation& operation, std::size_t r) {
  const OperationRow row = operands_of(operation, r);
  const Vector<T> x = in<T>(row.x), scale = in<T>(row.scale), cosines = in<T>(row.cosines), sines = in<T>(row.sines);
  if (const auto* norm = std::get_if<RmsNormRows>(&operation.what)) {
    return rms_norm<T>(row_of(x), row_of(scale), lift<T>(norm->epsilon));
  }
  const auto* embedding = std::get_if<RotaryRows>(&operation.what);
  return embedding ? rotary(row_of(x), row_of(cosines), row_of(sines), embedding->pairing) : softmax(row_of(x));
}

/// What a number is up to its finite value: NaN, an infinity and its sign, zero, or another number.
int class_of(double x) {
  if (std::isnan(x)) return 3;
  if (std::isinf(x)) return x > 0 ? 2 : -2;
  return x == 0 ? 0 : 1;
}

PROPERTY(ENC_P4, operations_on_rows_follow_ieee_arithmetic_where_operands_are_not_finite) {
  const RowOperation operation =
      *rc::gen::oneOf(softmax_operations(operands()), rms_operations(operands()), rotary_operations(operands()));
  RC_TAG(unit_name(operation));
  const CertifiedTensor certified = certify(operation, Format::f64);
  RC_ASSERT(certified.shape == Shape(operation.x.shape().begin(), operation.x.shape().end()));
  std::set<int> classes;
  for (std::size_t r = 0; r < operation.x.size() / operation.form.width; ++r) {
    const Vector<double> due = defined<double>(operation, r);
    for (std::size_t c = 0; c < operation.form.width; ++c) {
      const double element = certified.elements[element_of_row(operation.form, r, c)].lower;
      classes.insert(class_of(due(c)));
      RC_ASSERT(class_of(element) == class_of(due(c)));
    }
  }
  RC_CLASSIFY(classes.contains(3), "NaN");
  RC_CLASSIFY(classes.contains(2) || classes.contains(-2), "infinities");
  RC_CLASSIFY(classes.contains(1) && classes.contains(3), "NaN and numbers");
}

/// Numbers of the format that fill its significand, near 1.
rc::Gen<double> full_numbers(Format format) {
  const int bits = parameters(format).precision;
  const std::int64_t half = std::int64_t(1) << (bits - 1);
  return rc::gen::map(
      rc::gen::pair(between<std::int64_t>(half, 2 * half), rc::gen::element(-1, 1)),
      [=](std::pair<std::int64_t, int> n) { return n.second * std::ldexp(static_cast<double>(n.first), 1 - bits); });
}

/// A rotation by numbers that make the terms of a channel all but equal, half of the time.
rc::Gen<RowOperation> cancelling_rotations(Format format) {
  return rc::gen::exec([=] {
    RowOperation operation = *rotary_operations(full_numbers(format));
    auto& rotary = std::get<RotaryRows>(operation.what);
    if (*between(0, 2) == 0) return operation;
    for (std::size_t n = 0; n < rotary.cosines.size(); ++n) {
      const double step = std::ldexp(1.0, 1 - parameters(format).precision) * *between(-2, 3);
      rotary.sines.data()[n] = round_to(format, rotary.cosines.data()[n] + step);
    }
    std::fill(operation.x.begin(), operation.x.end(), *full_numbers(format));
    return operation;
  });
}

double number_of(double x) { return x; }
template <Format F>
double number_of(Rounded<F> x) {
  return x.value;
}

/// The greatest distances of what the arithmetic T makes of the rotation.
struct Farthest {
  double units = 0;
  std::uint64_t steps = 0;
};

template <class T>
Farthest farthest(const RowOperation& operation, Format format) {
  const CertifiedTensor due = certify(operation, format);
  Farthest result;
  for (std::size_t r = 0; r < operation.x.size() / operation.form.width; ++r) {
    const Vector<T> answer = defined<T>(operation, r);
    for (std::size_t c = 0; c < operation.form.width; ++c) {
      const Element& element = due.elements[element_of_row(operation.form, r, c)];
      const double number = number_of(answer(c));
      result.units = std::max(result.units, distance_in_units(element, number));
      result.steps = std::max(result.steps, distance_in_steps(format, element, number));
    }
  }
  return result;
}

PROPERTY(ENC_P5, a_rotary_embedding_in_its_format_lies_within_two_units) {
  bool far = false, cancelled = false;
  const auto holds = [&](Format format, auto arithmetic) {
    const Farthest found = farthest<decltype(arithmetic)>(*cancelling_rotations(format), format);
    far = far || found.units > 1;
    cancelled = cancelled || found.steps > 1000;
    RC_ASSERT(found.units <= 2 + unit_roundoff(format));
  };
  holds(Format::f64, double());
  holds(Format::f32, float());
  holds(Format::f16, RoundedF16());
  holds(Format::bf16, RoundedBF16());
  RC_CLASSIFY(far, "more than one unit off");
  RC_CLASSIFY(cancelled, "more than 1000 steps off");
}

PROPERTY(ENC_P6, softmax_of_a_shifted_row_has_the_same_units) {
  const auto quarters = rc::gen::map(between(-40, 41), [](int n) { return n / 4.0; });
  const RowOperation given = *softmax_operations(quarters);
  RowOperation shifted = given;
  const double shift = std::ldexp(*between(-1000, 1001), *rc::gen::element(-2, 0, 30));
  for (double& x : shifted.x) x = x + shift;
  RC_CLASSIFY(std::fabs(shift) > 1e6, "a shift beyond every score");
  RC_CLASSIFY(given.form.width == 1, "rows of one score");
  const CertifiedTensor a = certify(given, Format::f32), b = certify(shifted, Format::f32);
  for (std::size_t n = 0; n < a.elements.size(); ++n) {
    RC_ASSERT(same_bits(a.elements[n].unit, b.elements[n].unit));
    RC_ASSERT(same_bits(a.elements[n].lower, b.elements[n].lower));
    RC_ASSERT(same_bits(a.elements[n].upper, b.elements[n].upper));
  }
}

}  // namespace
}  // namespace attest
