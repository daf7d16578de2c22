/// Chapter 06: the examples of the layer, worked by hand.

#include "attest/definitions/layer.hpp"

#include "support/by_hand.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

Matrix<double> diagonal(double a, double b) { return Matrix<double>({{a, 0}, {0, b}}); }

EXAMPLE(MHA_E2, two_heads_of_width_two) {
  const Matrix<double> x({{1, 2, 3, 4}, {5, 6, 7, 8}});
  const std::vector<Matrix<double>> heads = split_heads(x, 2);
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_EQ(heads[0], Matrix<double>({{1, 2}, {5, 6}}));
  EXPECT_EQ(heads[1], Matrix<double>({{3, 4}, {7, 8}}));
  EXPECT_EQ(merge_heads(heads), x);
}

/// Two tokens, two heads of width 1.
LayerProblem two_heads() {
  LayerProblem problem;
  problem.query = problem.key = problem.value = tensor_of({1, 2, 2}, {0, 0, 1, 0});
  problem.config = {.q_heads = 2, .k_heads = 2, .v_heads = 2, .query_input = 2, .key_input = 2, .value_input = 2};
  problem.config.output_width = 2;
  problem.config.output_bias = true;
  problem.state.query_weight = problem.state.key_weight = problem.state.value_weight = diagonal(1, 1);
  problem.state.output_weight = diagonal(2, 1);
  problem.state.output_bias = vector_of<double>({0, 1});
  return problem;
}

EXAMPLE(MHA_E3, a_layer_of_two_heads_on_two_tokens) {
  const PrecisionScope scope(property_bits);
  const Enclosure e = exp(Enclosure(1));
  const std::vector<LayerRow<Enclosure>> rows = layer<Enclosure>(two_heads());
  expect_are(rows[0].heads[0].weights, {ratio(1, 2), ratio(1, 2)});
  expect_are(rows[1].heads[0].weights, {1 / (1 + e), e / (1 + e)});
  expect_are(rows[0].merged, {ratio(1, 2), Enclosure(0)});
  expect_are(rows[1].merged, {e / (1 + e), Enclosure(0)});
  expect_are(rows[0].output, {Enclosure(1), Enclosure(1)});
  expect_are(rows[1].output, {2 * e / (1 + e), Enclosure(1)});
}

EXAMPLE(MHA_E4, the_same_layer_with_a_key_of_zeros) {
  const PrecisionScope scope(property_bits);
  const Enclosure e = exp(Enclosure(1));
  LayerProblem problem = two_heads();
  problem.zero_attention = true;
  const std::vector<LayerRow<Enclosure>> rows = layer<Enclosure>(problem);
  expect_are(rows[1].heads[0].output, {e / (2 + e)});
  expect_are(rows[1].output, {2 * e / (2 + e), Enclosure(1)});
}

}  // namespace
}  // namespace attest
