#include "attest/verdict/certificate_claim.hpp"

#include <fmt/format.h>

#include <boost/multiprecision/gmp.hpp>
#include <cmath>

namespace attest {

namespace {

/// The finite value that is `steps` steps (FMT.D5) away, if there is one.
std::optional<double> value_beside(Format format, double value, std::int64_t steps) {
  const std::int64_t place = ordinal(format, value) + steps;
  const double magnitude = decode(format, static_cast<std::uint64_t>(std::abs(place)));
  if (!std::isfinite(magnitude)) return std::nullopt;
  return place < 0 ? -magnitude : magnitude;
}

Point middle(double a, double b) { return (Point(a) + Point(b)) / 2; }

long exponent_of(const Point& x) { return mpfr_get_exp(x.backend().data()); }

/// The greatest multiple of 2^exponent that is not above x.
Point floored(const Point& x, long exponent) { return ldexp(floor(ldexp(x, -exponent)), exponent); }

}  // namespace

Claim claim_of(Format format, const Point& x, const Point& margin) {
  const double nearest = round_to(format, x);
  if (std::isfinite(nearest)) {
    const auto below = value_beside(format, nearest, -1), above = value_beside(format, nearest, 1);
    if (below && above) {
      const Point lower = middle(*below, nearest), upper = middle(nearest, *above);
      if (lower < x - margin && x + margin < upper) return {lower, upper, nearest};
    }
  }
  return enclosing_claim(Enclosure(x), margin);
}

Claim enclosing_claim(const Enclosure& x, const Point& margin) {
  const long exponent = exponent_of(margin) - 4;  // a few digits beyond the first of the margin
  return {floored(lower_end(x) - margin, exponent), -floored(-(upper_end(x) + margin), exponent), std::nullopt};
}

std::string hex_text(const Point& x) {
  if (x == 0) return "0x0";
  boost::multiprecision::mpz_int significand;
  long exponent = mpfr_get_z_2exp(significand.backend().data(), x.backend().data());
  const auto zeros = lsb(boost::multiprecision::mpz_int(abs(significand)));
  significand = abs(significand) >> zeros;
  exponent += static_cast<long>(zeros);
  const std::string digits = significand.str(0, std::ios_base::hex);
  return fmt::format("{}0x{}{}", x < 0 ? "-" : "", digits, exponent == 0 ? "" : fmt::format("p{}", exponent));
}

std::string hex_text(double x) { return hex_text(Point(x)); }

std::string text_of(const Claim& claim, std::string_view term) {
  return fmt::format("{} <= {} <= {}", hex_text(claim.lower), term, hex_text(claim.upper));
}

}  // namespace attest
