/// Chapter 14: the examples. The first two are the meaning of chapters 12 to 14: the block learns.

#include "attest/definitions/layer_constructors.hpp"
#include "attest/training/train.hpp"
#include "attest/training/train_layer.hpp"
#include "support/by_hand.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

EXAMPLE(TRN_E1, a_block_learns_the_repeating_sequence) {
  const Example<> example = repeating_sequence();
  const Training<double> start = start_training<double>(initial_block<double>(2017));
  const Trained<double> run = train(start, example, learning_options(), 1000);
  EXPECT_NEAR(run.losses.front(), std::log(4.0), 0.4);
  EXPECT_LT(loss_of(run.training.block, example), 0.1);
  const std::vector<std::size_t> predicted = predictions(decoder_block(run.training.block, example.tokens).logits);
  EXPECT_TRUE(std::ranges::equal(predicted, example.targets));

  const Trained<double> again = train(start, example, learning_options(), 1000);
  const auto a = trained_slots(run.training.block), b = trained_slots(again.training.block);
  for (std::size_t n = 0; n < a.size(); ++n) {
    EXPECT_TRUE(std::ranges::equal(a[n].entries, b[n].entries, [](double x, double y) { return same_bits(x, y); }))
        << a[n].name;
  }
}

/// Two heads over the repeating sequence, a token being a row with a single 1.
LayerProblem layer_to_train() {
  LayerProblem problem;
  LayerConfig& n = problem.config;
  n.q_heads = n.k_heads = n.v_heads = 2;
  n.query_input = n.key_input = n.value_input = n.output_width = n.head_width = n.value_width = 4;
  n.input_bias = n.output_bias = n.dropout = true;
  problem.call.causal = true;
  problem.state = unpack(n, initial_state(layer_plan(n, {}, {1, 2, 3, 4}, 0.125)));
  problem.query = xt::zeros<double>({1, 8, 4});
  for (std::size_t i = 0; i < 8; ++i) problem.query(0, i, repeating_sequence().tokens[i]) = 1;
  problem.key = problem.value = problem.query;
  return problem;
}

EXAMPLE(TRN_E2, a_configured_layer_learns_it_too) {
  const Example<> example = repeating_sequence();
  const Row<std::size_t> targets = example.targets;
  const LayerTraining start = start_layer_training(layer_to_train());
  const TrainedLayer run = train_layer(start, targets, {.rate = 0.01}, 2017, 1000);
  const Matrix<double> logits = layer_logits(run.training.problem);
  EXPECT_LT(mean_cross_entropy(logits, targets), 0.1);
  EXPECT_TRUE(std::ranges::equal(predictions(logits), example.targets));
  EXPECT_EQ(run.training.problem.state.probability, 0.125);
  EXPECT_NE(run.training.problem.state.query_bias, start.problem.state.query_bias);
  EXPECT_NE(run.training.problem.state.output_bias, start.problem.state.output_bias);
}

EXAMPLE(TRN_E3, cross_entropy_of_two_rows) {
  const PrecisionScope scope(property_bits);
  const Matrix<Enclosure> logits = {{0, ln(3)}, {0, ln(3)}};
  const std::array<std::size_t, 2> targets = {0, 1};
  expect_is(cross_entropy(row_of(logits, 0), 0), ln(4));
  expect_is(cross_entropy(row_of(logits, 1), 1), ln(4) - ln(3));
  expect_is(mean_cross_entropy(logits, Row<std::size_t>(targets)), ln(4) - ln(3) / 2);
  const Matrix<Enclosure> g = mean_cross_entropy_gradient(logits, Row<std::size_t>(targets));
  expect_are(vector_of<Enclosure>({g(0, 0), g(0, 1), g(1, 0), g(1, 1)}),
             {ratio(-3, 8), ratio(3, 8), ratio(1, 8), ratio(-1, 8)});
  EXPECT_EQ(predictions({{0, 2, 1}, {5, 5, 4}}), (std::vector<std::size_t>{1, 0}));
}

EXAMPLE(TRN_E4, two_steps_of_adam) {
  const PrecisionScope scope(property_bits);
  const AdamOptions options{0.5, 0.5, 0.75, 2};
  const AdamEntry<Enclosure> first = adam_entry<Enclosure>({1, 0, 0}, 2, {ratio(1, 2), ratio(3, 4)}, options);
  expect_are(vector_of<Enclosure>({first.parameter, first.first, first.second}), {ratio(3, 4), 1, 1});
  const AdamEntry<Enclosure> second = adam_entry<Enclosure>(first, -2, {ratio(1, 4), ratio(9, 16)}, options);
  expect_are(vector_of<Enclosure>({second.parameter, second.first, second.second}),
             {ratio(5, 6), ratio(-1, 2), ratio(7, 4)});
}

}  // namespace
}  // namespace attest
