/// Chapter 05: the examples. Their keys are logarithms, which no binary64 is: a key t in a call stands for ln t, and
/// becomes it once the head is in enclosures.

#include "attest/definitions/attention.hpp"

#include "support/by_hand.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

/// One call with a single channel and scale 1.
Problem call(const Shape& q_shape, const Tensor<double>& k, const Tensor<double>& v) {
  Problem problem;
  problem.inputs.q = Tensor<double>::from_shape(q_shape);
  problem.inputs.q.fill(1);
  problem.inputs.k = k;
  problem.inputs.v = v;
  return problem;
}

Head<Enclosure> head_with_logarithms(const Problem& problem, std::size_t h) {
  check(problem);
  Head<Enclosure> head = head_of<Enclosure>(problem, 0, h, all_indices(extents(problem.inputs).queries));
  for (Enclosure& key : head.keys) key = log(key);
  return head;
}

EXAMPLE(ATT_E1, one_query_and_two_keys) {
  const PrecisionScope scope(property_bits);
  const Vector<Enclosure> query = vector_of({Enclosure(1), Enclosure(0)});
  const Matrix<Enclosure> keys = {{Enclosure(0), Enclosure(5)}, {ln(3), Enclosure(-1)}};
  const Matrix<Enclosure> values = {{Enclosure(4), Enclosure(0)}, {Enclosure(8), Enclosure(4)}};
  expect_are(compute(row_of(query), keys, values), {Enclosure(7), Enclosure(3)});
  const Vector<Enclosure> scores =
      tabulate(2, [&](std::size_t j) { return score(row_of(query), row_of(keys, j), Enclosure(1)); });
  expect_are(softmax(row_of(scores)), {ratio(1, 4), ratio(3, 4)});
  expect_prints(log_sum_exp(row_of(scores)), 1.3862943611198906);
}

EXAMPLE(ATT_E2, causal_attention_two_by_two) {
  const PrecisionScope scope(property_bits);
  Problem problem = call({1, 1, 2, 1}, tensor_of({1, 1, 2, 1}, {1, 3}), tensor_of({1, 1, 2, 1}, {4, 8}));
  problem.call.causal = true;
  const Head<Enclosure> head = head_with_logarithms(problem, 0);
  const AttendedRow<Enclosure> first = attend_row(head, 0);
  EXPECT_EQ(first.keys, (std::vector<std::size_t>{0}));
  expect_are(first.weights, {Enclosure(1)});
  expect_are(first.output, {Enclosure(4)});
  expect_is(first.lse, Enclosure(0));
  const AttendedRow<Enclosure> second = attend_row(head, 1);
  EXPECT_EQ(second.keys, (std::vector<std::size_t>{0, 1}));
  expect_are(second.weights, {ratio(1, 4), ratio(3, 4)});
  expect_are(second.output, {Enclosure(7)});
  expect_is(second.lse, ln(4));
}

EXAMPLE(ATT_E3, four_query_heads_over_two_key_heads) {
  const PrecisionScope scope(property_bits);
  Problem problem = call({1, 4, 1, 1}, tensor_of({1, 2, 2, 1}, {1, 3, 1, 1}), tensor_of({1, 2, 2, 1}, {4, 8, 2, 6}));
  const auto output = [&](std::size_t h) { return attend_row(head_with_logarithms(problem, h), 0).output(0); };
  problem.call.head_map = HeadMap::grouped;
  expect_are(tabulate(4, output), {Enclosure(7), Enclosure(7), Enclosure(4), Enclosure(4)});
  expect_are(attend_row(head_with_logarithms(problem, 1), 0).weights, {ratio(1, 4), ratio(3, 4)});
  expect_are(attend_row(head_with_logarithms(problem, 2), 0).weights, {ratio(1, 2), ratio(1, 2)});
  problem.call.head_map = HeadMap::tiled;
  expect_are(tabulate(4, output), {Enclosure(7), Enclosure(4), Enclosure(7), Enclosure(4)});
}

/// The logit of one pair with a cap of 2, from q.k = 1 * key.
Enclosure capped_logit(BiasPosition position, double scale, const Enclosure& key, const Enclosure& bias) {
  Problem problem = call({1, 1, 1, 1}, tensor_of({1, 1, 1, 1}, {1}), tensor_of({1, 1, 1, 1}, {1}));
  problem.call.scale = scale;
  problem.call.softcap = 2;
  problem.call.bias_position = position;
  problem.inputs.bias = tensor_of({1, 1, 1, 1}, {0});
  Head<Enclosure> head = head_with_logarithms(problem, 0);
  head.keys(0, 0) = key;
  (*head.bias)(0, 0) = bias;
  return attend_row(head, 0).logits(0);
}

EXAMPLE(ATT_E4, softcap_and_the_place_of_the_bias) {
  const PrecisionScope scope(property_bits);
  const Enclosure two(2), ln_three_halves = ln(3) - ln(2);
  expect_is(softcap(two * ln(2), two), ratio(6, 5));
  expect_is(softcap(two * ln(3), two), ratio(8, 5));
  expect_is(softcap(-two * ln(2), two), ratio(-6, 5));
  EXPECT_TRUE(is_zero(softcap(Enclosure(0), two)));
  const Enclosure after = capped_logit(BiasPosition::after_softcap, 1, two * ln(2), two * ln_three_halves);
  expect_is(after, ratio(6, 5) + two * ln_three_halves);
  expect_prints(after, 2.0109302162163288);
  expect_is(capped_logit(BiasPosition::before_softcap, 1, two * ln(2), two * ln_three_halves), ratio(8, 5));
  expect_is(capped_logit(BiasPosition::inside_scale, 2, ln(2), ln_three_halves), ratio(8, 5));
}

EXAMPLE(ATT_E5, a_sink_takes_its_share_of_the_output) {
  const PrecisionScope scope(property_bits);
  Problem problem = call({1, 1, 1, 1}, tensor_of({1, 1, 3, 1}, {1, 2, 3}), tensor_of({1, 1, 3, 1}, {12, 6, 4}));
  problem.inputs.sink = Vector<double>{1};
  Head<Enclosure> head = head_with_logarithms(problem, 0);
  head.sink = ln(6);
  const AttendedRow<Enclosure> row = attend_row(head, 0);
  expect_are(row.weights, {ratio(1, 12), ratio(2, 12), ratio(3, 12)});
  expect_are(row.output, {Enclosure(3)});
  expect_is(row.lse, ln(12));
  head.sink_in_lse = false;
  expect_is(attend_row(head, 0).lse, ln(6));
  head.sink = std::nullopt;
  expect_are(attend_row(head, 0).output, {Enclosure(6)});
}

}  // namespace
}  // namespace attest
