/// Chapter 10: the examples.

#include "attest/definitions/positions.hpp"

#include "support/by_hand.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

template <class T>
void expect_halving(const Vector<T>& slopes) {
  ASSERT_EQ(slopes.size(), 8u);
  for (std::size_t h = 0; h < 8; ++h) {
    EXPECT_EQ(slopes(h), lift<T>(std::ldexp(1.0, -static_cast<int>(h) - 1))) << "head " << h;
  }
}

EXAMPLE(POS_E1, slopes_for_eight_heads) {
  expect_halving(alibi_slopes<double>(8));
  expect_halving(alibi_slopes<float>(8));
  expect_halving(alibi_slopes<Wide>(8));
  EXPECT_TRUE(alibi_slopes<RoundedBF16>(8)(7) == RoundedBF16(0x1p-8));
  EXPECT_TRUE(alibi_slopes<RoundedF16>(8)(0) == RoundedF16(0.5));
  const PrecisionScope scope(property_bits);
  expect_halving(alibi_slopes<Enclosure>(8));
}

EXAMPLE(POS_E2, slopes_for_twelve_heads) {
  const PrecisionScope scope(property_bits);
  const Vector<Enclosure> slopes = alibi_slopes<Enclosure>(12);
  ASSERT_EQ(slopes.size(), 12u);
  for (std::size_t h = 0; h < 8; ++h) EXPECT_EQ(slopes(h), alibi_slopes<Enclosure>(8)(h));
  const Enclosure root = sqrt(ratio(1, 2));
  for (int n = 0; n < 4; ++n) expect_is(slopes(8 + n), root / Enclosure(1 << n));
  expect_prints(slopes(8), 0.7071067811865476);
  expect_prints(slopes(9), 0.3535533905932738);
  expect_prints(slopes(10), 0.1767766952966369);
  expect_prints(slopes(11), 0.08838834764831845);
}

EXAMPLE(POS_E3, a_row_in_both_pairings) {
  const PrecisionScope scope(property_bits);
  const Vector<Enclosure> row = vector_of<Enclosure>({1, 2, 3, 4, 5});
  const Vector<Enclosure> cosines = vector_of({Enclosure(0), ratio(3, 5)});
  const Vector<Enclosure> sines = vector_of({Enclosure(1), ratio(4, 5)});
  const auto with = [&](Pairing pairing) { return rotary(row_of(row), row_of(cosines), row_of(sines), pairing); };
  expect_are(with(Pairing::halves), {-3, -2, 1, 4, 5});
  expect_are(with(Pairing::interleaved), {-2, 1, ratio(-7, 5), ratio(24, 5), 5});
}

EXAMPLE(POS_E4, sinusoidal_encoding_of_the_first_positions) {
  EXPECT_EQ(row_of(sinusoidal_encoding<double>(1, 4, 10000), 0)[0], 0);
  const PrecisionScope scope(property_bits);
  const Matrix<Enclosure> encoding = sinusoidal_encoding<Enclosure>(2, 4, 10000);
  EXPECT_TRUE(is_zero(encoding(0, 0)) && is_zero(encoding(0, 2)));
  EXPECT_TRUE(is_zero(encoding(0, 1) - Enclosure(1)) && is_zero(encoding(0, 3) - Enclosure(1)));
  EXPECT_TRUE(is_zero(frequency<Enclosure>(0, 4, 10000) - Enclosure(1)));
  expect_is(frequency<Enclosure>(1, 4, 10000), ratio(1, 100));
  expect_is(encoding(1, 0), sin(Enclosure(1)));
  expect_is(encoding(1, 3), cos(ratio(1, 100)));
  const double printed[] = {0.8414709848078965, 0.5403023058681398, 0.009999833334166664, 0.9999500004166653};
  for (std::size_t c = 0; c < 4; ++c) expect_prints(encoding(1, c), printed[c]);
}

EXAMPLE(POS_E5, a_partial_rotation_by_position_100) {
  const PrecisionScope scope(property_bits);
  const Enclosure cos_100 = cos(Enclosure(100)), sin_100 = sin(Enclosure(100));
  const Enclosure cos_1 = cos(Enclosure(1)), sin_1 = sin(Enclosure(1));
  const Vector<Enclosure> pairs = vector_of<Enclosure>({1, 0, 1, 0, 7});
  const auto at = [&](std::int64_t p) {
    return rotary_at<Enclosure>(row_of(pairs), p, 10000, Pairing::interleaved, 4);
  };
  expect_are(at(100), {cos_100, sin_100, cos_1, sin_1, 7});
  const Vector<Enclosure> back = at(-100);
  expect_are(back, {cos_100, -sin_100, cos_1, -sin_1, 7});
  const double printed[] = {0.8623188722876839, 0.5063656411097588, 0.5403023058681398, -0.8414709848078965, 7};
  for (std::size_t c = 0; c < 5; ++c) expect_prints(back(c), printed[c]);
  const Vector<Enclosure> halves = vector_of<Enclosure>({1, 1, 0, 0, 7});
  expect_are(rotary_at<Enclosure>(row_of(halves), 100, 10000, Pairing::halves, 4), {cos_100, cos_1, sin_100, sin_1, 7});
}

}  // namespace
}  // namespace attest
