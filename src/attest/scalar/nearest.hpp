#pragma once
/// A real number, rounded to binary64 once.

#include "attest/scalar/enclosure.hpp"
#include "attest/scalar/error.hpp"
#include "attest/scalar/format.hpp"

namespace attest {

/// The nearest binary64 of a real that is no midpoint: with enough bits both ends of its enclosure round to it. The
/// precisions are those of ENC.D2.
template <class F>
double nearest(F&& real) {
  for (int bits = 128; bits <= 4096; bits *= 2) {
    const auto [lower, upper] = with_precision(bits, [&] {
      const Enclosure x = real();
      return std::pair(round_to(Format::f64, lower_end(x)), round_to(Format::f64, upper_end(x)));
    });
    if (lower == upper) return lower;
  }
  throw CannotAnswer("the binary64 nearest to a real number is undecided at 4096 bits");
}

}  // namespace attest
