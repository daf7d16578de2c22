#pragma once
/// Upper bounds of numbers that are not negative: what running errors are added up in. Each operation is rounded to
/// nearest and then goes one step up, so that it is never below the real result.

#include <algorithm>
#include <cmath>
#include <limits>

#include "attest/scalar/enclosure.hpp"

namespace attest {

/// A number that is known to be at most `value`. Without a bound, the value is infinite.
struct Upper {
  double value = 0;

  friend Upper operator+(Upper a, Upper b) {
    return a.value == 0 ? b : b.value == 0 ? a : stepped_up(a.value + b.value);
  }
  friend Upper operator*(Upper a, Upper b) {
    return a.value == 0 || b.value == 0 ? Upper() : stepped_up(a.value * b.value);
  }

  static Upper stepped_up(double x) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    return {std::isnan(x) ? infinity : std::nextafter(x, infinity)};
  }
};

/// 1 / (1 - t), which is infinite unless t < 1.
inline Upper grown(Upper t) {
  const double below = std::nextafter(1 - t.value, -1);
  return {below > 0 ? Upper::stepped_up(1 / below) : Upper{std::numeric_limits<double>::infinity()}};
}

/// |x| for every member x of an enclosure.
inline Upper magnitude(const Enclosure& x) {
  const double lower = mpfr_get_d(&x.backend().data()->left, MPFR_RNDD);
  const double upper = mpfr_get_d(&x.backend().data()->right, MPFR_RNDU);
  if (std::isnan(lower) || std::isnan(upper)) return {std::numeric_limits<double>::infinity()};
  return {std::max(-lower, upper)};
}

}  // namespace attest
