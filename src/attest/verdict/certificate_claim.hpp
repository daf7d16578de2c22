#pragma once
/// Chapter 17 (ENC): what a certificate claims of a number, as Coq reads it.

#include <optional>
#include <string>

#include "attest/certify/certified.hpp"

namespace attest {

/// A claim lower <= x <= upper about a real number x. A margin on either side is left for whoever proves it.
struct Claim {
  Point lower;
  Point upper;
  std::optional<double> rounded;  ///< the value of the format that x rounds to, where the claim says so much
};

/// ENC.D13  claim_of(f, x, margin): the reals between the middles from the value of f nearest to x to its two
/// neighbours, where x lies inside by more than the margin. Otherwise x - margin to x + margin.
Claim claim_of(Format format, const Point& x, const Point& margin);

/// x - margin <= x <= x + margin, with ends of few digits: multiples of a power of two near the margin.
Claim enclosing_claim(const Enclosure& x, const Point& margin);

/// A number exactly, as a hexadecimal float with an integer significand: 3/16 is "0x3p-4".
std::string hex_text(const Point& x);
std::string hex_text(double x);

/// "lower <= term <= upper"
std::string text_of(const Claim& claim, std::string_view term);

}  // namespace attest
