/// Chapter 03: the examples.

#include "attest/definitions/mask.hpp"
#include "support/generators.hpp"
#include "support/spec_tests.hpp"
#include "support/visible_sets.hpp"

namespace attest {
namespace {

EXAMPLE(MSK_E1, the_three_by_three_causal_mask) {
  const double hidden = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(causal_mask(3), (Matrix<double>{{0, hidden, hidden}, {0, 0, hidden}, {0, 0, 0}}));
  Problem causal = sized(Call(), 3, 3);
  causal.call.causal = true;
  EXPECT_EQ(visible_matrix(causal, 0, 0), visible_set({"100", "110", "111"}));
}

EXAMPLE(MSK_E2, two_queries_over_four_keys_in_both_alignments) {
  Problem causal = sized(Call(), 2, 4);
  causal.call.causal = true;
  causal.call.alignment = Alignment::top_left;
  EXPECT_EQ(offset_of(causal, 0), 0);
  EXPECT_EQ(visible_matrix(causal, 0, 0), visible_set({"1000", "1100"}));
  causal.call.alignment = Alignment::bottom_right_padded;
  EXPECT_EQ(offset_of(causal, 0), 2);
  EXPECT_EQ(visible_matrix(causal, 0, 0), visible_set({"1110", "1111"}));
}

EXAMPLE(MSK_E3, a_window_with_one_key_to_the_left) {
  Problem windowed = sized(Call(), 4, 4);
  windowed.call.window_left = 1;
  windowed.call.window_right = 0;
  EXPECT_EQ(visible_matrix(windowed, 0, 0), visible_set({"1000", "1100", "0110", "0011"}));
  Problem counted = sized(Call(), 4, 4);
  counted.call.window_counts = WindowCounts::self_too;
  counted.call.window_left = 2;
  counted.call.window_right = 1;
  EXPECT_EQ(visible_matrix(counted, 0, 0), visible_matrix(windowed, 0, 0));
}

}  // namespace
}  // namespace attest
