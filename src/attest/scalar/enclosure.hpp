#pragma once
/// Intervals with outward rounding at run-time precision (MPFI through Boost.Multiprecision): a definition evaluated
/// here returns a set that contains the real value. That containment is the proof.

#include <boost/multiprecision/mpfi.hpp>
#include <boost/multiprecision/mpfr.hpp>
#include <utility>

#include "attest/scalar/scalar.hpp"

namespace attest {

/// A closed interval of reals with finite end points.
using Enclosure =
    boost::multiprecision::number<boost::multiprecision::mpfi_float_backend<0>, boost::multiprecision::et_off>;
/// An end point of an enclosure.
using Point =
    boost::multiprecision::number<boost::multiprecision::mpfr_float_backend<0>, boost::multiprecision::et_off>;

/// The two end points, exactly.
Point lower_end(const Enclosure& x);
Point upper_end(const Enclosure& x);

/// Whether two enclosures share a point: what "equal in the reals" means for a test.
bool meet(const Enclosure& a, const Enclosure& b);

/// Whether the enclosure contains this binary64.
bool contains(const Enclosure& x, double value);

/// The smallest enclosure that contains both.
Enclosure hull(const Enclosure& a, const Enclosure& b);

template <>
struct Arithmetic<Enclosure> {
  static Enclosure lift(double x);                            ///< refuses a value that is not finite: NUM.C1
  static Enclosure shift_of(std::span<const Enclosure> row);  ///< a point: the greatest midpoint
  static Enclosure positive_part(const Enclosure& x);
  static Enclosure absolute(const Enclosure& x);
  static Enclosure where_positive(const Enclosure& x, const Enclosure& y);  ///< the hull of 0 and y where undecided
};

/// Sets this thread's precision for new enclosures while it lives, and restores the old one.
class PrecisionScope {
 public:
  explicit PrecisionScope(int bits);  ///< refuses bits outside 2 .. 2^20: NUM.C2
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  unsigned enclosure_digits_;
  unsigned point_digits_;
};

/// NUM.D6  with_precision(bits, f) = f(), where every enclosure made by f carries at least that many bits.
template <class F>
decltype(auto) with_precision(int bits, F&& f) {
  const PrecisionScope scope(bits);
  return std::forward<F>(f)();
}

}  // namespace attest
