/// Chapter 04: the examples. All are about the scores 0, ln 2, ln 3.

#include "attest/definitions/softmax.hpp"

#include "support/by_hand.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

constexpr bool last_hidden[] = {true, true, false};
constexpr bool all_hidden[] = {false, false, false};

Vector<Enclosure> scores() { return vector_of({Enclosure(0), ln(2), ln(3)}); }

std::optional<Enclosure> visible_lse(Row<bool> visible) {
  const Vector<Enclosure> gathered = gather(row_of(scores()), visible_keys(visible));
  return log_sum_exp(row_of(gathered));
}

EXAMPLE(SMX_E1, softmax_of_three_scores) {
  const PrecisionScope scope(property_bits);
  expect_are(softmax(row_of(scores())), {ratio(1, 6), ratio(2, 6), ratio(3, 6)});
  expect_is(log_sum_exp(row_of(scores())), ln(6));
  expect_prints(log_sum_exp(row_of(scores())), 1.7917594692280550);
}

EXAMPLE(SMX_E2, the_last_key_hidden) {
  const PrecisionScope scope(property_bits);
  const Vector<Enclosure> weights = masked_softmax(row_of(scores()), Row<bool>(last_hidden));
  expect_are(weights, {ratio(1, 3), ratio(2, 3), Enclosure(0)});
  EXPECT_TRUE(is_zero(weights(2)));
  expect_is(visible_lse(last_hidden), ln(3));
  expect_prints(visible_lse(last_hidden), 1.0986122886681097);
}

EXAMPLE(SMX_E3, an_empty_row) {
  for (const Enclosure& w : masked_softmax(row_of(scores()), Row<bool>(all_hidden))) EXPECT_TRUE(is_zero(w));
  EXPECT_FALSE(visible_lse(all_hidden).has_value());
}

EXAMPLE(SMX_E4, a_sink_takes_one_half) {
  const PrecisionScope scope(property_bits);
  const Vector<Enclosure> weights = sink_softmax(row_of(scores()), ln(6));
  expect_are(weights, {ratio(1, 12), ratio(2, 12), ratio(3, 12)});
  expect_is(weights(0) + weights(1) + weights(2), ratio(1, 2));
  const Vector<Enclosure> with_sink = append(row_of(scores()), ln(6));
  expect_is(log_sum_exp(row_of(with_sink)), ln(12));
  expect_prints(log_sum_exp(row_of(with_sink)), 2.4849066497880003);
  expect_is(log_sum_exp(row_of(scores())), ln(6));
}

EXAMPLE(SMX_E5, the_deviations_on_an_empty_row) {
  const PrecisionScope scope(property_bits);
  const Vector<double> rounded = vector_of({0.0, std::log(2.0), std::log(3.0)});
  for (const double w : additive_softmax(row_of(rounded), Row<bool>(all_hidden))) EXPECT_TRUE(std::isnan(w));
  for (const double sentinel : {-1e9, -30.0, 0.5}) {
    expect_are(sentinel_fill_softmax(row_of(scores()), Row<bool>(all_hidden), Enclosure(sentinel)),
               {ratio(1, 3), ratio(1, 3), ratio(1, 3)});
    expect_are(sentinel_additive_softmax(row_of(scores()), Row<bool>(all_hidden), Enclosure(sentinel)),
               {ratio(1, 6), ratio(2, 6), ratio(3, 6)});
  }
}

}  // namespace
}  // namespace attest
