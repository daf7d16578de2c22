#pragma once
/// What the examples of the specification need: numbers in closed form, small tensors, and what it means that a result
/// is the number that was worked out by hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "attest/certify/rounding.hpp"
#include "support/compare.hpp"

namespace attest {

inline Enclosure ratio(int numerator, int denominator) { return Enclosure(numerator) / Enclosure(denominator); }
inline Enclosure ln(int n) { return log(Enclosure(n)); }

template <class T>
Vector<T> vector_of(std::initializer_list<T> entries) {
  return tabulate(entries.size(), [&](std::size_t i) { return entries.begin()[i]; });
}

inline Tensor<double> tensor_of(const Shape& shape, std::initializer_list<double> entries) {
  Tensor<double> t = Tensor<double>::from_shape(shape);
  std::ranges::copy(entries, t.begin());
  return t;
}

/// The result encloses a real number that the closed form encloses too, and both do so narrowly.
inline void expect_is(const std::optional<Enclosure>& result, const Enclosure& closed_form) {
  ASSERT_TRUE(result.has_value());
  EXPECT_TRUE(meet(*result, closed_form)) << *result << " is not " << closed_form;
  EXPECT_TRUE(is_narrow(*result) && is_narrow(closed_form)) << *result;
}

inline void expect_are(const Vector<Enclosure>& results, std::initializer_list<Enclosure> closed_forms) {
  ASSERT_EQ(results.size(), closed_forms.size());
  for (std::size_t n = 0; n < results.size(); ++n) expect_is(results(n), closed_forms.begin()[n]);
}

/// The decimal number is, as a binary64, the correct rounding of the result.
inline void expect_prints(const std::optional<Enclosure>& result, double decimal) {
  ASSERT_TRUE(result.has_value());
  const Candidates candidates = round_enclosure(Format::f64, *result, Overflow::standard);
  EXPECT_EQ(candidates.lower, decimal);
  EXPECT_EQ(candidates.upper, decimal);
}

/// The result is the point 0.
inline bool is_zero(const Enclosure& result) { return lower_end(result) == 0 && upper_end(result) == 0; }

}  // namespace attest
