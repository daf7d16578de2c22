#pragma once
/// A 200-bit binary float: an approximation with slack, for cross-checks. It is not a proof; only an enclosure is.

#include <boost/multiprecision/cpp_bin_float.hpp>

#include "attest/scalar/scalar.hpp"

namespace attest {

using Wide =
    boost::multiprecision::number<boost::multiprecision::cpp_bin_float<200, boost::multiprecision::digit_base_2>,
                                  boost::multiprecision::et_off>;

template <>
struct Arithmetic<Wide> : OrderedArithmetic<Wide> {
  static Wide lift(double x) { return Wide(x); }
  static Wide minus_infinity() { return -std::numeric_limits<Wide>::infinity(); }
};

}  // namespace attest
