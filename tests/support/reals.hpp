#pragma once
/// Reals around the values of a format, and MPFR's emulation of that format as a second opinion on its rounding.

#include <ostream>
#include <set>

#include "attest/scalar/format.hpp"
#include "support/property.hpp"

namespace attest {

/// Holds 53 bits of a value, and 100 more beyond a midpoint or 200 before the value.
constexpr int real_bits = 320;

/// A real number and the format that it is to be rounded to.
struct Real {
  Format format;
  Point x;
};

inline std::ostream& operator<<(std::ostream& out, const Real& real) {
  return out << real.x.str(0, std::ios::scientific) << " to " << parameters(real.format).name;
}

inline rc::Gen<Format> formats() {
  return rc::gen::element(Format::f64, Format::f32, Format::f16, Format::bf16, Format::f8e4m3, Format::f8e5m2);
}

/// The finite values of a format that are not negative, often those at the end of a range.
inline rc::Gen<double> magnitudes(Format format) {
  const std::uint64_t normal = encode(format, std::ldexp(1.0, parameters(format).min_exponent));
  const std::uint64_t largest = encode(format, parameters(format).largest);
  const auto any = rc::gen::resize(rc::kNominalSize, rc::gen::inRange<std::uint64_t>(0, largest + 1));
  const auto end = rc::gen::element<std::uint64_t>(0, 1, normal - 1, normal, largest - 1, largest);
  return rc::gen::map(rc::gen::oneOf(any, any, end), [format](std::uint64_t code) { return decode(format, code); });
}

/// The finite values of a format.
inline rc::Gen<double> values(Format format) {
  return rc::gen::map(rc::gen::pair(magnitudes(format), rc::gen::arbitrary<bool>()),
                      [](std::pair<double, bool> value) { return value.second ? -value.first : value.first; });
}

/// FMT.D3's step at x: how far apart the values around x are, as if there were no largest.
inline Point step_at(Format format, const Point& x) {
  const FormatParameters f = parameters(format);
  const long exponent = x == 0 ? f.min_exponent : mpfr_get_exp(x.backend().data()) - 1;
  return ldexp(Point(1), std::max<long>(exponent, f.min_exponent) - f.precision + 1);
}

/// Values, midpoints of neighbours, reals a hair (2^-100 of a step) to a side of either, and reals far away.
inline rc::Gen<Real> reals(Format format) {
  return rc::gen::exec([format] {
    const PrecisionScope scope(real_bits);
    const Point hair = ldexp(Point(1), -100);
    const double value = *values(format);
    const Point steps =
        *rc::gen::element<Point>(0, hair, 0.25, 0.5 - hair, 0.5, 0.5 + hair, 0.75, 1 - hair, ldexp(Point(1), 200));
    const Point beyond = steps * step_at(format, value);
    return Real{format, std::signbit(value) ? value - beyond : value + beyond};
  });
}

inline rc::Gen<Real> reals() {
  return rc::gen::mapcat(formats(), [](Format format) { return reals(format); });
}

/// The correctly rounded result of an MPFR operation, by the recipe of MPFR's manual: the operation in the precision of
/// the format, then the exponent range, then the subnormals. MPFR has infinities; what E4M3 has instead is done here.
template <class Operation>
double computed_by_mpfr(Format format, Overflow rule, Operation&& operation) {
  const FormatParameters f = parameters(format);
  const mpfr_exp_t lowest = mpfr_get_emin(), highest = mpfr_get_emax();
  Point result;
  mpfr_set_prec(result.backend().data(), f.precision);
  int ternary = operation(result.backend().data());
  mpfr_set_emin(f.min_exponent - f.precision + 2);
  mpfr_set_emax(f.max_exponent + 1);
  ternary = mpfr_check_range(result.backend().data(), ternary, MPFR_RNDN);
  mpfr_subnormalize(result.backend().data(), ternary, MPFR_RNDN);
  mpfr_set_emin(lowest);
  mpfr_set_emax(highest);
  const double rounded = mpfr_get_d(result.backend().data(), MPFR_RNDN);
  if (std::isnan(rounded) || std::fabs(rounded) <= f.largest) return rounded;
  if (rule == Overflow::saturate) return std::copysign(f.largest, rounded);
  return std::copysign(f.has_infinity ? std::numeric_limits<double>::infinity() : std::nan(""), rounded);
}

inline double rounded_by_mpfr(Format format, Overflow rule, const Point& x) {
  return computed_by_mpfr(format, rule,
                          [&](mpfr_ptr result) { return mpfr_set(result, x.backend().data(), MPFR_RNDN); });
}

/// A rounded real with its place in the order: what overflowed to NaN lies beyond the largest number.
inline double place(double rounded, const Point& x) {
  return std::isnan(rounded) ? std::copysign(std::numeric_limits<double>::infinity(), x < 0 ? -1.0 : 1.0) : rounded;
}

/// The same bits, or NaN both.
inline bool same_value(double a, double b) { return same_bits(a, b) || (std::isnan(a) && std::isnan(b)); }

/// The names under which properties classify reals.
inline std::set<std::string> classes_of(const Real& real) {
  const FormatParameters f = parameters(real.format);
  const Point size = abs(real.x);
  std::set<std::string> classes{std::string(f.name)};
  if (size > f.largest) classes.insert("beyond the largest");
  if (size < std::ldexp(1.0, f.min_exponent)) classes.insert("below the smallest normal");
  if (size != 0 && size < std::ldexp(1.0, f.min_exponent - f.precision + 1)) classes.insert("below the smallest");
  return classes;
}

}  // namespace attest
