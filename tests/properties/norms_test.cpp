/// Chapter 11: layer norm and root mean square norm.

#include "attest/definitions/norms.hpp"

#include "support/property.hpp"
#include "support/rows.hpp"

namespace attest {
namespace {

/// Rows whose channels are not all equal, so that every norm exists with epsilon 0 too.
rc::Gen<std::vector<double>> varied_rows() {
  return rc::gen::exec([] {
    std::vector<double> row = *rows(*between<std::size_t>(2, 10));
    const bool varies = std::ranges::any_of(row, [&](double x) { return x != row.front(); });
    if (!varies) row.back() = row.front() + *rc::gen::element(1.0, -0.25, 0x1p-20);
    return row;
  });
}

/// Zero, the customary ones, and large ones.
rc::Gen<double> epsilons() { return rc::gen::element(0.0, 1e-5, 1e-6, 0.1, 2.0, 0x1p-120); }

/// Squares of numbers down to 2^-60, the epsilon beside them, and what cancels between them.
constexpr int norm_bits = property_bits + 400;

constexpr std::nullopt_t absent = std::nullopt;

Vector<Enclosure> layer_normed(const Vector<Enclosure>& row, const Enclosure& epsilon) {
  return layer_norm<Enclosure>(row_of(row), absent, absent, epsilon);
}

Vector<Enclosure> rms_normed(const Vector<Enclosure>& row, const Enclosure& epsilon) {
  return rms_norm<Enclosure>(row_of(row), absent, epsilon);
}

Vector<Enclosure> scaled(const Enclosure& factor, const Vector<Enclosure>& row) {
  return tabulate(row.size(), [&](std::size_t c) -> Enclosure { return factor * row(c); });
}

PROPERTY(NRM_P1, layer_norm_is_invariant_to_shift) {
  const std::vector<double> channels = *varied_rows();
  const std::vector<double> gamma = *rows(channels.size()), beta = *rows(channels.size());
  const double epsilon = *epsilons();
  const double t = *rc::gen::element(1.0, -0.375, 1e9, -0x1p60, 0x1p-90);
  RC_CLASSIFY(epsilon == 0, "epsilon 0");
  with_precision(norm_bits, [&] {
    const Vector<Enclosure> row = lifted<Enclosure>(channels);
    const Vector<Enclosure> shifted =
        tabulate(row.size(), [&](std::size_t c) -> Enclosure { return row(c) + Enclosure(t); });
    const Vector<Enclosure> factors = lifted<Enclosure>(gamma), terms = lifted<Enclosure>(beta);
    const auto normed = [&](const Vector<Enclosure>& x) {
      return layer_norm<Enclosure>(row_of(x), row_of(factors), row_of(terms), Enclosure(epsilon));
    };
    RC_ASSERT(is_narrow(normed(row)) && is_narrow(normed(shifted)));
    RC_ASSERT(meet(normed(row), normed(shifted)));
  });
}

PROPERTY(NRM_P2, layer_norm_is_invariant_to_positive_scale) {
  const std::vector<double> channels = *varied_rows();
  const double epsilon = *epsilons();
  const double a = *rc::gen::element(2.0, 0.1, 1e6, 0x1p-30);
  RC_CLASSIFY(epsilon == 0, "epsilon 0");
  with_precision(norm_bits, [&] {
    const Vector<Enclosure> row = lifted<Enclosure>(channels);
    const Vector<Enclosure> plain = layer_normed(row, Enclosure(epsilon));
    const Enclosure factor(a), epsilon_there = factor * factor * Enclosure(epsilon);
    RC_ASSERT(is_narrow(plain));
    RC_ASSERT(meet(plain, layer_normed(scaled(factor, row), epsilon_there)));
    RC_ASSERT(meet(scaled(Enclosure(-1), plain), layer_normed(scaled(-factor, row), epsilon_there)));
  });
}

PROPERTY(NRM_P3, rms_norm_is_invariant_to_positive_scale) {
  const std::vector<double> channels = *varied_rows();
  const double epsilon = *epsilons();
  const double a = *rc::gen::element(2.0, 0.1, 1e6, 0x1p-30);
  RC_CLASSIFY(epsilon == 0, "epsilon 0");
  with_precision(norm_bits, [&] {
    const Vector<Enclosure> row = lifted<Enclosure>(channels);
    const Vector<Enclosure> plain = rms_normed(row, Enclosure(epsilon));
    const Enclosure factor(a);
    RC_ASSERT(is_narrow(plain));
    RC_ASSERT(meet(plain, rms_normed(scaled(factor, row), Enclosure(factor * factor * Enclosure(epsilon)))));
  });
}

PROPERTY(NRM_P4, layer_norm_output_has_mean_zero) {
  const std::vector<double> channels = *varied_rows();
  const double epsilon = *epsilons();
  with_precision(norm_bits, [&] {
    const Vector<Enclosure> normed = layer_normed(lifted<Enclosure>(channels), Enclosure(epsilon));
    RC_ASSERT(is_narrow(mean(row_of(normed))));
    RC_ASSERT(contains(mean(row_of(normed)), 0));
  });
}

PROPERTY(NRM_P5, layer_norm_output_has_its_variance) {
  const std::vector<double> channels = *varied_rows();
  const double epsilon = *epsilons();
  RC_CLASSIFY(epsilon == 0, "epsilon 0");
  with_precision(norm_bits, [&] {
    const Vector<Enclosure> row = lifted<Enclosure>(channels);
    const Enclosure v = variance(row_of(row));
    const Vector<Enclosure> normed = layer_normed(row, Enclosure(epsilon));
    RC_ASSERT(is_narrow(variance(row_of(normed))));
    RC_ASSERT(meet(variance(row_of(normed)), Enclosure(v / (v + Enclosure(epsilon)))));
  });
}

template <class T>
void norms_agree_on_centred_rows(const std::vector<double>& channels, const std::vector<double>& gamma,
                                 double epsilon) {
  const Vector<T> row = lifted<T>(channels), factors = lifted<T>(gamma), deviations = centred(row_of(row));
  const T e = lift<T>(epsilon);
  RC_ASSERT(same_bits(layer_norm<T>(row_of(row), row_of(factors), absent, e),
                      rms_norm<T>(row_of(deviations), row_of(factors), e)));
  RC_ASSERT(same_bits(layer_norm<T>(row_of(row), absent, absent, e), rms_norm<T>(row_of(deviations), absent, e)));
}

PROPERTY(NRM_P6, rms_norm_is_layer_norm_of_centred_rows) {
  const std::vector<double> channels = *varied_rows();
  const std::vector<double> gamma = *rows(channels.size());
  const double epsilon = *epsilons();
  norms_agree_on_centred_rows<double>(channels, gamma, epsilon);
  norms_agree_on_centred_rows<float>(channels, gamma, epsilon);
  norms_agree_on_centred_rows<RoundedBF16>(channels, gamma, epsilon);
}

PROPERTY(NRM_P7, epsilon_stands_inside_the_root) {
  const std::vector<double> channels = *varied_rows();
  const double epsilon = *epsilons();
  RC_CLASSIFY(epsilon == 0, "epsilon 0");
  with_precision(norm_bits, [&] {
    const Vector<Enclosure> row = lifted<Enclosure>(channels);
    const Enclosure square = mean_square(row_of(row));
    const Vector<Enclosure> normed = rms_normed(row, Enclosure(epsilon));
    RC_ASSERT(is_narrow(mean_square(row_of(normed))));
    RC_ASSERT(meet(mean_square(row_of(normed)), Enclosure(square / (square + Enclosure(epsilon)))));
  });
}

PROPERTY(NRM_P8, variance_is_mean_square_minus_squared_mean) {
  const std::vector<double> channels = *rows(*between<std::size_t>(1, 10));
  RC_CLASSIFY(channels.size() == 1, "one channel");
  with_precision(norm_bits, [&] {
    const Vector<Enclosure> row = lifted<Enclosure>(channels);
    const Enclosure m = mean(row_of(row));
    RC_ASSERT(is_narrow(variance(row_of(row))));
    RC_ASSERT(meet(variance(row_of(row)), Enclosure(mean_square(row_of(row)) - m * m)));
  });
}

template <class T>
void parameters_come_last(const std::vector<double>& channels, const std::vector<double>& gamma,
                          const std::vector<double>& beta, double epsilon) {
  const Vector<T> row = lifted<T>(channels), factors = lifted<T>(gamma), terms = lifted<T>(beta);
  const Vector<T> ones = tabulate(row.size(), [](std::size_t) { return T(1); });
  const T e = lift<T>(epsilon);
  const auto layer = [&](std::optional<Row<T>> g, std::optional<Row<T>> b) {
    return layer_norm<T>(row_of(row), g, b, e);
  };
  const auto rms = [&](std::optional<Row<T>> g) { return rms_norm<T>(row_of(row), g, e); };
  const Vector<T> y = layer(absent, absent), z = rms(absent);
  const auto each = [&](auto&& f) { return tabulate(row.size(), [&](std::size_t c) -> T { return f(c); }); };
  RC_ASSERT(same_bits(layer(row_of(factors), row_of(terms)),
                      each([&](std::size_t c) -> T { return T(y(c) * factors(c)) + terms(c); })));
  RC_ASSERT(same_bits(layer(absent, row_of(terms)), each([&](std::size_t c) -> T { return y(c) + terms(c); })));
  RC_ASSERT(same_bits(rms(row_of(factors)), each([&](std::size_t c) -> T { return z(c) * factors(c); })));
  RC_ASSERT(same_bits(layer(row_of(ones), absent), y) && same_bits(rms(row_of(ones)), z));
}

PROPERTY(NRM_P9, gamma_and_beta_come_last) {
  const std::vector<double> channels = *varied_rows();
  const std::vector<double> gamma = *rows(channels.size()), beta = *rows(channels.size());
  const double epsilon = *epsilons();
  parameters_come_last<double>(channels, gamma, beta, epsilon);
  parameters_come_last<float>(channels, gamma, beta, epsilon);
  parameters_come_last<RoundedBF16>(channels, gamma, beta, epsilon);
}

}  // namespace
}  // namespace attest
