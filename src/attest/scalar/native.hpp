#pragma once
/// float and double as scalars: the machine's own arithmetic, round to nearest.

#include <limits>

#include "attest/scalar/scalar.hpp"

#if defined(__FAST_MATH__)
#error "attest relies on IEEE arithmetic: do not compile it with -ffast-math"
#endif

namespace attest {

template <>
struct Arithmetic<double> : OrderedArithmetic<double> {
  static double lift(double x) { return x; }
  static double minus_infinity() { return -std::numeric_limits<double>::infinity(); }
};

template <>
struct Arithmetic<float> : OrderedArithmetic<float> {
  static float lift(double x) { return static_cast<float>(x); }
  static float minus_infinity() { return -std::numeric_limits<float>::infinity(); }
};

}  // namespace attest
