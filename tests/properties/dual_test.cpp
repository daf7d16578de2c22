/// Chapter 01: dual numbers.

#include "attest/scalar/dual.hpp"

#include "support/gradients.hpp"

namespace attest {
namespace {

using D = Dual<Enclosure>;

/// The tangent of f at x along t, the arguments enclosed over the segment x + s t, meets the central quotient of f.
template <class F>
void tangent_is_derivative(double x, double y, double tx, double ty, F&& f) {
  const Enclosure h = step(), s = segment(h);
  const auto at = [&](const Enclosure& m) {
    return f(Enclosure(Enclosure(x) + m * Enclosure(tx)), Enclosure(Enclosure(y) + m * Enclosure(ty)));
  };
  const Enclosure quotient = (at(h) - at(-h)) / (h + h);
  const D result =
      f(D(Enclosure(x) + s * Enclosure(tx), Enclosure(tx)), D(Enclosure(y) + s * Enclosure(ty), Enclosure(ty)));
  RC_ASSERT(is_narrow(quotient) && is_narrow_over_a_segment(result.tangent));
  RC_ASSERT(meet(quotient, result.tangent) && meet(result.value, at(Enclosure(0))));
}

PROPERTY(NUM_P4, tangent_of_an_operation_is_its_derivative) {
  const auto number = [] { return *rc::gen::element(0.5, 1.0, -1.5, 2.0, -3.0, 0.125, 7.0); };
  const double x = number(), y = number(), tx = number(), ty = number();
  with_precision(gradient_bits, [&] {
    const auto check = [&](auto f) { tangent_is_derivative(x, y, tx, ty, f); };
    check([](const auto& a, const auto& b) { return a + b; });
    check([](const auto& a, const auto& b) { return a - b; });
    check([](const auto& a, const auto& b) { return -(a * b); });
    check([](const auto& a, const auto& b) { return a / b; });
    check([](const auto& a, const auto&) { return exp(a); });
    check([](const auto& a, const auto&) { return log(a * a); });
    check([](const auto& a, const auto&) { return tanh(a); });
    check([](const auto& a, const auto& b) { return sqrt(a * a + b * b); });
    check([](const auto& a, const auto&) { return sin(a); });
    check([](const auto& a, const auto&) { return cos(a); });
    check([](const auto& a, const auto&) { return positive_part(a); });
    check([](const auto& a, const auto&) { return absolute(a); });
    check([](const auto& a, const auto& b) { return where_positive(a, b); });
  });
}

PROPERTY(NUM_P5, positive_part_has_derivative_zero_at_zero) {
  const double t = *rc::gen::element(1.0, -2.0, 0.25);
  RC_ASSERT(same_bits(where_positive(0.0, t), 0.0) && same_bits(where_positive(-0.0, t), 0.0));
  RC_ASSERT(same_bits(where_positive(RoundedBF16(0), RoundedBF16(t)), RoundedBF16(0)));
  with_precision(property_bits, [&] {
    const D at_zero = positive_part(D(Enclosure(0), Enclosure(t)));
    RC_ASSERT(contains(at_zero.tangent, 0) && lower_end(at_zero.tangent) == upper_end(at_zero.tangent));
    const Enclosure straddling = where_positive(hull(Enclosure(-1), Enclosure(1)), Enclosure(t));
    RC_ASSERT(contains(straddling, 0) && contains(straddling, t));
  });
}

}  // namespace
}  // namespace attest
