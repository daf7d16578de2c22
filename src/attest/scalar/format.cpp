#include "attest/scalar/format.hpp"

#include <bit>
#include <limits>

#include "attest/scalar/error.hpp"

namespace attest {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Where a format keeps its fields: sign | exponent | fraction, the exponent biased so that code 1 is min_exponent.
struct Fields {
  int fraction_bits;
  std::uint64_t fraction_mask;
  std::uint64_t exponent_mask;  ///< all ones, unshifted
  std::uint64_t sign;
};

Fields fields(const FormatParameters& f) {
  const int fraction_bits = f.precision - 1;
  return {fraction_bits, (std::uint64_t(1) << fraction_bits) - 1,
          (std::uint64_t(1) << (f.bits - 1 - fraction_bits)) - 1, std::uint64_t(1) << (f.bits - 1)};
}

/// The code, without its sign, of the smallest NaN; the codes below it are the numbers (and infinity) in order.
std::uint64_t first_nan(const FormatParameters& f) {
  const Fields at = fields(f);
  const std::uint64_t top = at.exponent_mask << at.fraction_bits;
  return f.has_infinity ? top + 1 : top + at.fraction_mask;
}

/// floor(log2 |x|), cut off where the format cannot tell the difference.
long exponent_of(double x) { return std::ilogb(x); }
long exponent_of(const Point& x) { return mpfr_get_exp(x.backend().data()) - 1; }

/// The integer nearest x * 2^-step, ties to even. It has at most p + 1 <= 54 bits here, and is a binary64.
double nearest_multiple(double x, int step) { return std::nearbyint(std::ldexp(x, -step)); }
double nearest_multiple(const Point& x, int step) {
  Point scaled(x);
  mpfr_mul_2si(scaled.backend().data(), x.backend().data(), -step, MPFR_RNDN);
  mpfr_roundeven(scaled.backend().data(), scaled.backend().data());
  return mpfr_get_d(scaled.backend().data(), MPFR_RNDN);
}

double overflowed(const FormatParameters& f, double sign, Overflow rule) {
  if (rule == Overflow::saturate) return std::copysign(f.largest, sign);
  return std::copysign(f.has_infinity ? infinity : nan, sign);
}

template <class Real>
double round_finite(const FormatParameters& f, const Real& x, double sign, Overflow rule) {
  const long exponent = exponent_of(x);
  if (exponent > f.max_exponent) return overflowed(f, sign, rule);
  if (exponent < f.min_exponent - f.precision) return std::copysign(0.0, sign);
  const int step = static_cast<int>(std::max<long>(exponent, f.min_exponent)) - f.precision + 1;
  const double rounded = std::ldexp(nearest_multiple(x, step), step);
  return std::fabs(rounded) > f.largest ? overflowed(f, sign, rule) : std::copysign(rounded, sign);
}

}  // namespace

double decode(Format format, std::uint64_t code) {
  const FormatParameters f = parameters(format);
  const Fields at = fields(f);
  const double sign = (code & at.sign) ? -1.0 : 1.0;
  const std::uint64_t magnitude = code & (at.sign - 1);
  if (magnitude >= first_nan(f)) return nan;
  if (f.has_infinity && magnitude == first_nan(f) - 1) return sign * infinity;
  const std::uint64_t biased = magnitude >> at.fraction_bits;
  const std::uint64_t fraction = magnitude & at.fraction_mask;
  const std::uint64_t significand = biased == 0 ? fraction : fraction | (at.fraction_mask + 1);
  const int exponent = f.min_exponent + (biased == 0 ? 0 : static_cast<int>(biased) - 1);
  return sign * std::ldexp(static_cast<double>(significand), exponent - at.fraction_bits);
}

std::uint64_t encode(Format format, double value) {
  const FormatParameters f = parameters(format);
  const Fields at = fields(f);
  const std::uint64_t sign = std::signbit(value) ? at.sign : 0;
  const std::uint64_t quiet_nan =
      at.exponent_mask << at.fraction_bits | (f.has_infinity ? (at.fraction_mask + 1) >> 1 : at.fraction_mask);
  if (std::isnan(value)) return quiet_nan;
  if (std::isinf(value)) return sign | (first_nan(f) - 1);
  if (value == 0) return sign;
  const int exponent = std::max(std::ilogb(value), f.min_exponent);
  const auto significand = static_cast<std::uint64_t>(std::ldexp(std::fabs(value), at.fraction_bits - exponent));
  const bool normal = significand > at.fraction_mask;
  const std::uint64_t biased = normal ? static_cast<std::uint64_t>(exponent - f.min_exponent + 1) : 0;
  return sign | biased << at.fraction_bits | (significand & at.fraction_mask);
}

double round_to(Format format, double x, Overflow rule) {
  const FormatParameters f = parameters(format);
  if (std::isnan(x) || x == 0) return x;
  if (std::isinf(x)) return f.has_infinity && rule == Overflow::standard ? x : overflowed(f, x, rule);
  return round_finite(f, x, x, rule);
}

double round_to(Format format, const Point& x, Overflow rule) {
  const mpfr_srcptr raw = x.backend().data();
  if (!mpfr_number_p(raw) || mpfr_zero_p(raw)) {
    return round_to(format, mpfr_get_d(raw, MPFR_RNDN), rule);
  }
  return round_finite(parameters(format), x, mpfr_sgn(raw), rule);
}

std::int64_t ordinal(Format format, double value) {
  const FormatParameters f = parameters(format);
  const auto magnitude =
      static_cast<std::int64_t>(std::isinf(value) && !f.has_infinity ? first_nan(f) : encode(format, std::fabs(value)));
  return std::signbit(value) ? -magnitude : magnitude;
}

std::uint64_t steps_between(Format format, double a, double b) {
  const std::int64_t x = ordinal(format, a);
  const std::int64_t y = ordinal(format, b);
  return x < y ? static_cast<std::uint64_t>(y) - static_cast<std::uint64_t>(x)
               : static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y);
}

bool is_value_of(Format format, double x) {
  const double rounded = round_to(format, x);
  return std::isnan(x) || rounded == x;
}

}  // namespace attest
