#pragma once
/// Chapter 17 (ENC): an enclosure in decimal, without a digit that is not known.

#include <string>

#include "attest/scalar/enclosure.hpp"

namespace attest {

/// A number for people to read, and whether the enclosure was narrow enough for the digits wanted.
struct Decimal {
  std::string text;
  bool certified;
};

/// The decimal of `digits` significant digits to which every point of the enclosure rounds. Where the midpoint of two
/// decimals lies within, a few digits more tell them apart. Without such a decimal the enclosure is too wide: then as
/// many digits as it allows, "|x| < bound" where not even the sign is known, and not certified. A number that is known
/// exactly, and has no more digits than that, is printed without zeros at its end: 0.25 is one quarter, while
/// 0.25000000 is within half a unit of the last digit of it.
Decimal decimal(const Enclosure& x, int digits);

}  // namespace attest
