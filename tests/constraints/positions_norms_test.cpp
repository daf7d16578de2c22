/// Chapters 10 and 11: what is refused, and in which words.

#include <limits>

#include "attest/definitions/norms.hpp"
#include "attest/definitions/positions.hpp"
#include "support/by_hand.hpp"
#include "support/refusal.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const Vector<double> three = {1, 2, 3};
const Vector<double> two = {1, 2};
const Vector<double> one = {1};

CONSTRAINT(POS_C1, an_even_number_of_channels_is_rotated_at_most_the_width) {
  const auto at = [](std::size_t rotated) {
    return refusal_of([&] { rotary_at<double>(row_of(three), 1, 10000, Pairing::halves, rotated); });
  };
  EXPECT_EQ(at(0), "");
  EXPECT_EQ(at(2), "");
  EXPECT_EQ(at(3), "POS.C1: rotated channels: an even number, got 3");
  EXPECT_EQ(at(4), "POS.C1: rotated channels: at most the width 3, got 4");
  EXPECT_EQ(refusal_of([] { rotary_cache<double>(2, 5, 10000); }), "POS.C1: rotated channels: an even number, got 5");
  EXPECT_EQ(refusal_of([] { rotary(row_of(one), row_of(one), row_of(one), Pairing::interleaved); }),
            "POS.C1: rotated channels: at most the width 1, got 2");
}

CONSTRAINT(POS_C2, there_is_a_sine_for_each_cosine) {
  EXPECT_EQ(refusal_of([] { rotary(row_of(three), row_of(one), row_of(two), Pairing::halves); }),
            "POS.C2: sines: one for each of the 1 cosines, got 2");
  EXPECT_EQ(refusal_of([] { rotary(row_of(three), row_of(one), row_of(one), Pairing::halves); }), "");
}

CONSTRAINT(POS_C3, position_ids_lie_inside_the_cache) {
  const RotaryCache<double> cache = rotary_cache<double>(4, 2, 10000);
  const auto at = [&](std::int64_t p) {
    return refusal_of([&] { cached_rotary(row_of(three), cache, p, Pairing::halves); });
  };
  EXPECT_EQ(at(0), "");
  EXPECT_EQ(at(3), "");
  EXPECT_EQ(at(4), "POS.C3: position_ids: at least 0 and below the 4 positions of the cache, got 4");
  EXPECT_EQ(at(-1), "POS.C3: position_ids: at least 0 and below the 4 positions of the cache, got -1");
}

CONSTRAINT(POS_C4, slopes_need_a_head) {
  EXPECT_EQ(refusal_of([] { alibi_slopes<double>(0); }), "POS.C4: heads: at least 1, got 0");
  EXPECT_EQ(refusal_of([] { alibi_slope<double>(0, 0); }), "POS.C4: heads: at least 1, got 0");
  EXPECT_EQ(refusal_of([] { geometric_slope<double>(0, 0); }), "POS.C4: heads: at least 1, got 0");
  EXPECT_EQ(refusal_of([] { alibi_slopes<double>(1); }), "");
}

CONSTRAINT(POS_C5, tokens_and_positions_fit_together) {
  const Matrix<double> tokens = {{1, 2}, {3, 4}, {5, 6}};
  const Matrix<double> longer = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
  const Matrix<double> wider = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  EXPECT_EQ(refusal_of([&] { add_positions(tokens, longer); }), "POS.C5: positions: shape (3, 2), got (4, 2)");
  EXPECT_EQ(refusal_of([&] { add_positions(tokens, wider); }), "POS.C5: positions: shape (3, 2), got (3, 3)");
  EXPECT_EQ(refusal_of([&] { concatenate_positions(tokens, longer); }),
            "POS.C5: positions: a row for each of the 3 tokens, got 4");
  EXPECT_EQ(add_positions(tokens, tokens), (Matrix<double>{{2, 4}, {6, 8}, {10, 12}}));
  EXPECT_EQ(concatenate_positions(tokens, wider), (Matrix<double>{{1, 2, 1, 2, 3}, {3, 4, 4, 5, 6}, {5, 6, 7, 8, 9}}));
}

CONSTRAINT(POS_C6, the_base_is_a_positive_real_number) {
  const auto with = [](double base) { return refusal_of([&] { sinusoidal<double>(1, 0, 2, base); }); };
  EXPECT_EQ(with(0), "POS.C6: base: finite and above 0, got 0");
  EXPECT_EQ(with(-2), "POS.C6: base: finite and above 0, got -2");
  EXPECT_EQ(with(infinity), "POS.C6: base: finite and above 0, got inf");
  EXPECT_EQ(with(nan), "POS.C6: base: finite and above 0, got nan");
  EXPECT_EQ(with(0.5), "");
  EXPECT_EQ(refusal_of([] { rotary_cache<double>(1, 2, -1); }), "POS.C6: base: finite and above 0, got -1");
}

CONSTRAINT(NRM_C1, epsilon_is_finite_and_not_negative) {
  const auto with = [](double epsilon) { return refusal_of([&] { require_epsilon(epsilon); }); };
  EXPECT_EQ(with(-1e-9), "NRM.C1: epsilon: finite and at least 0, got -1e-09");
  EXPECT_EQ(with(infinity), "NRM.C1: epsilon: finite and at least 0, got inf");
  EXPECT_EQ(with(nan), "NRM.C1: epsilon: finite and at least 0, got nan");
  EXPECT_EQ(with(0), "");
  EXPECT_EQ(with(1e-5), "");
}

CONSTRAINT(NRM_C2, gamma_and_beta_have_an_entry_for_each_channel) {
  EXPECT_EQ(refusal_of([] { layer_norm<double>(row_of(three), row_of(two), row_of(three), 0); }),
            "NRM.C2: gamma: one entry for each of the 3 channels, got 2");
  EXPECT_EQ(refusal_of([] { layer_norm<double>(row_of(three), std::nullopt, row_of(two), 0); }),
            "NRM.C2: beta: one entry for each of the 3 channels, got 2");
  EXPECT_EQ(refusal_of([] { rms_norm<double>(row_of(two), row_of(three), 0); }),
            "NRM.C2: gamma: one entry for each of the 2 channels, got 3");
}

CONSTRAINT(NRM_C3, a_row_has_a_channel) {
  const Row<double> empty;
  EXPECT_EQ(refusal_of([&] { mean(empty); }), "NRM.C3: row: at least one channel, got 0");
  EXPECT_EQ(refusal_of([&] { layer_norm<double>(empty, std::nullopt, std::nullopt, 1); }),
            "NRM.C3: row: at least one channel, got 0");
  EXPECT_EQ(refusal_of([&] { rms_norm<double>(empty, std::nullopt, 1); }), "NRM.C3: row: at least one channel, got 0");
}

CONSTRAINT(NRM_C4, the_denominator_is_not_zero) {
  const Vector<double> equal = {2, 2}, zeros = {0, -0.0};
  const auto layer = [](const Vector<double>& row, double epsilon) {
    return refusal_of([&] { require_layer_norm_exists(row_of(row), epsilon); });
  };
  const auto rms = [](const Vector<double>& row, double epsilon) {
    return refusal_of([&] { require_rms_norm_exists(row_of(row), epsilon); });
  };
  EXPECT_EQ(layer(equal, 0), "NRM.C4: epsilon: above 0 for a row of equal channels, got 0");
  EXPECT_EQ(layer(zeros, 0), "NRM.C4: epsilon: above 0 for a row of equal channels, got 0");
  EXPECT_EQ(rms(zeros, 0), "NRM.C4: epsilon: above 0 for a row of zeros, got 0");
  EXPECT_EQ(layer(equal, 1e-5) + layer(two, 0) + rms(zeros, 1e-5) + rms(equal, 0), "");
  EXPECT_TRUE(std::isnan(layer_norm<double>(row_of(equal), std::nullopt, std::nullopt, 0)(0)));
  EXPECT_TRUE(std::isnan(rms_norm<double>(row_of(zeros), std::nullopt, 0)(0)));
}

}  // namespace
}  // namespace attest
