#include "attest/certify/decimal.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>

namespace attest {

namespace {

constexpr int extra_digits = 6;

/// (-1)^negative * 0.d1 d2 d3 ... * 10^exponent
struct Digits {
  bool negative;
  std::string digits;
  long exponent;

  friend bool operator==(const Digits&, const Digits&) = default;
};

/// x to this many significant digits, at least two; correctly rounded in the direction given.
Digits digits_of(const Point& x, int count, mpfr_rnd_t direction = MPFR_RNDN) {
  mpfr_exp_t exponent = 0;
  const std::unique_ptr<char, void (*)(char*)> text(
      mpfr_get_str(nullptr, &exponent, 10, static_cast<std::size_t>(count), x.backend().data(), direction),
      mpfr_free_str);
  const bool negative = *text == '-';
  return {negative, text.get() + negative, exponent};
}

std::string without_zeros_at_its_end(std::string digits) {
  const std::size_t last = digits.find_last_not_of('0');
  digits.resize(last == std::string::npos ? 1 : last + 1);
  return digits;
}

/// As people write it: with an exponent of ten where zeros would have to be counted.
std::string spell(const Digits& x) {
  const auto n = static_cast<long>(x.digits.size());
  const std::string sign = x.negative ? "-" : "";
  if (x.exponent < -2 || x.exponent > std::max(n, 8L)) {
    const std::string fraction = n > 1 ? "." + x.digits.substr(1) : "";
    return fmt::format("{}{}{}e{:+03}", sign, x.digits[0], fraction, x.exponent - 1);
  }
  if (x.exponent <= 0) return fmt::format("{}0.{:0>{}}{}", sign, "", -x.exponent, x.digits);
  if (x.exponent >= n) return fmt::format("{}{:0<{}}", sign, x.digits, x.exponent);
  const auto point = static_cast<std::size_t>(x.exponent);
  return fmt::format("{}{}.{}", sign, x.digits.substr(0, point), x.digits.substr(point));
}

/// The decimal that the number is, if it has at most so many digits.
std::optional<std::string> exactly(const Point& x, int digits) {
  Digits shown = digits_of(x, digits);
  shown.digits = without_zeros_at_its_end(shown.digits);
  Point back;
  mpfr_set_prec(back.backend().data(), mpfr_get_prec(x.backend().data()));
  const std::string scientific = fmt::format("{}0.{}e{}", shown.negative ? "-" : "", shown.digits, shown.exponent);
  const int inexact = mpfr_strtofr(back.backend().data(), scientific.c_str(), nullptr, 10, MPFR_RNDN);
  if (inexact != 0 || back != x) return std::nullopt;
  return spell(shown);
}

std::optional<std::string> agreed(const Point& low, const Point& high, int digits) {
  const Digits rounded = digits_of(low, digits);
  if (rounded != digits_of(high, digits)) return std::nullopt;
  return spell(rounded);
}

}  // namespace

Decimal decimal(const Enclosure& x, int digits) {
  const Point low = lower_end(x);
  const Point high = upper_end(x);
  if (low == 0 && high == 0) return {"0", true};
  if (low <= 0 && high >= 0) {
    const Point farther = -low > high ? Point(-low) : high;
    Digits bound = digits_of(farther, 2, MPFR_RNDU);
    return {fmt::format("|x| < {}", spell(bound)), false};
  }
  if (low == high) {
    if (const auto text = exactly(low, digits)) return {*text, true};
  }
  for (int n = digits; n <= digits + extra_digits; ++n) {
    if (const auto text = agreed(low, high, n)) return {*text, true};
  }
  for (int n = digits - 1; n >= 2; --n) {
    if (const auto text = agreed(low, high, n)) return {*text, false};
  }
  return {fmt::format("{} to {}", spell(digits_of(low, 2, MPFR_RNDD)), spell(digits_of(high, 2, MPFR_RNDU))), false};
}

}  // namespace attest
