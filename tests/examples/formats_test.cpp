/// Chapter 16: the examples.

#include "attest/scalar/format.hpp"
#include "support/compare.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

EXAMPLE(FMT_E1, the_tie_464_in_f8e4m3) {
  EXPECT_EQ(round_to(Format::f8e4m3, 464.0), 448);
  EXPECT_TRUE(std::isnan(round_to(Format::f8e4m3, 465.0)));
  EXPECT_EQ(round_to(Format::f8e4m3, 465.0, Overflow::saturate), 448);
}

EXAMPLE(FMT_E2, the_end_of_f16) {
  EXPECT_EQ(round_to(Format::f16, 65519.0), 65504);
  EXPECT_EQ(round_to(Format::f16, 65520.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(round_to(Format::f16, 65520.0, Overflow::saturate), 65504);
}

EXAMPLE(FMT_E3, smallest_subnormal_numbers) {
  const PrecisionScope scope(property_bits);
  const std::pair<Format, int> exponents[] = {{Format::f64, -1074}, {Format::f32, -149},  {Format::f16, -24},
                                              {Format::bf16, -133}, {Format::f8e4m3, -9}, {Format::f8e5m2, -16}};
  for (const auto& [format, exponent] : exponents) {
    const double delta = std::ldexp(1.0, exponent);
    const Point half = ldexp(Point(1), exponent - 1);
    EXPECT_TRUE(same_bits(round_to(format, half), 0.0));
    EXPECT_EQ(round_to(format, Point(half + ldexp(half, -99))), delta);
    EXPECT_EQ(round_to(format, Point(3 * half)), 2 * delta);
    EXPECT_TRUE(same_bits(round_to(format, Point(-half)), -0.0));
    EXPECT_EQ(encode(format, 0.0), 0u);
    EXPECT_EQ(encode(format, delta), 1u);
    EXPECT_EQ(encode(format, 2 * delta), 2u);
  }
}

}  // namespace
}  // namespace attest
