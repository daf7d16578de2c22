/// Chapter 20: the examples.

#include "attest/conventions/ggml.hpp"
#include "attest/conventions/onnx.hpp"
#include "attest/conventions/systems.hpp"
#include "attest/definitions/attention.hpp"
#include "support/by_hand.hpp"
#include "support/generators.hpp"
#include "support/spec_tests.hpp"
#include "support/visible_sets.hpp"

namespace attest {
namespace {

EXAMPLE(CNV_E1, three_keys_in_the_words_of_five_systems) {
  const Matrix<bool> due = visible_set({"10000", "11000", "11100", "01110", "00111"});
  const auto visible = [](const Call& call) { return visible_matrix(sized(call, 5, 5), 0, 0); };
  EXPECT_EQ(visible(flash_call({.causal = true, .window_left = 2, .window_right = 0})), due);
  EXPECT_EQ(visible(onnx_call({.version = 25, .is_causal = 1, .left_window_size = 2})), due);
  EXPECT_EQ(visible(jax_call({.is_causal = true, .local_window_size = JaxWindow{2, 0}})), due);
  EXPECT_EQ(visible(runtime_group_query_call({.local_window_size = 3})), due);
  EXPECT_EQ(visible(transformers_call({.sliding_window = 3})), due);

  const Matrix<bool> both_sides = visible_set({"11000", "11100", "01110", "00111", "00011"});
  EXPECT_EQ(visible(flash_call({.window_left = 1, .window_right = 1})), both_sides);
  EXPECT_EQ(visible(jax_call({.local_window_size = JaxWindow{1, 1}})), both_sides);
  EXPECT_EQ(visible(transformers_call({.is_causal = false, .sliding_window = 1})), both_sides);
}

EXAMPLE(CNV_E2, causal_with_two_queries_and_four_keys) {
  const Matrix<bool> from_the_top = visible_set({"1000", "1100"}), to_the_bottom = visible_set({"1110", "1111"});
  const auto visible = [](const Call& call, std::size_t past) {
    Problem problem = sized(call, 2, 4);
    problem.inputs.past = past;
    return visible_matrix(problem, 0, 0);
  };
  EXPECT_EQ(visible(jax_call({.is_causal = true}), 0), from_the_top);
  EXPECT_EQ(visible(onnx_call({.is_causal = 1}), 0), from_the_top);
  EXPECT_EQ(visible(onnx_call({.past = true, .is_causal = 1}), 2), to_the_bottom);
  EXPECT_EQ(visible(runtime_multihead_call({.unidirectional = 1}), 2), to_the_bottom);
  EXPECT_EQ(visible(transformers_call({}), 2), to_the_bottom);
  EXPECT_EQ(visible(flash_call({.causal = true}), 0), to_the_bottom);
  EXPECT_EQ(visible(runtime_group_query_call({}), 2), to_the_bottom);
}

EXAMPLE(CNV_E3, grouped_queries_of_a_prompt_and_of_a_step) {
  const GroupQueryLengths prompt = group_query_lengths({3, 5}, 6);
  EXPECT_EQ(prompt.queries, (Vector<std::int64_t>{4, 6}));
  EXPECT_EQ(prompt.keys, (Vector<std::int64_t>{4, 6}));
  const GroupQueryLengths step = group_query_lengths({4, 2}, 1);
  EXPECT_EQ(step.queries, (Vector<std::int64_t>{1, 1}));
  EXPECT_EQ(step.keys, (Vector<std::int64_t>{5, 3}));
}

/// Three query heads over one key head; the mask has 64 rows, of which three are of the call, and the last cell is
/// free.
Problem three_heads_of_ggml() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Tensor<double> mask(Shape{1, 1, 64, 3}, -infinity);
  mask(0, 0, 0, 0) = mask(0, 0, 1, 1) = 0;
  mask(0, 0, 1, 0) = -1;
  Problem problem{ggml_call({.scale = 0.5F, .max_bias = 8, .logit_softcap = 2}), {}};
  problem.inputs.q = tensor_of({1, 3, 3, 2}, {1, 1, 1, 1, 1, 1, 2, 0, 2, 0, 2, 0, 0, 2, 0, 2, 0, 2});
  problem.inputs.k = tensor_of({1, 1, 3, 2}, {2, 0, 0, 4, 0, 0});
  problem.inputs.v = tensor_of({1, 1, 3, 2}, {1, 0, 0, 1, 5, 5});
  problem.inputs.bias = ggml_bias(mask, {1, 3, 3, 3}, 8);
  problem.inputs.sink = Vector<double>{0, 1, -1};
  return problem;
}

EXAMPLE(CNV_E4, mask_slopes_and_sinks_of_ggml) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Problem problem = three_heads_of_ggml();
  EXPECT_EQ(*problem.inputs.bias, tensor_of({1, 3, 3, 3}, {0, -inf, -inf, -0.0625,     0, -inf, -inf, -inf, -inf,
                                                           0, -inf, -inf, -0.00390625, 0, -inf, -inf, -inf, -inf,
                                                           0, -inf, -inf, -0.25,       0, -inf, -inf, -inf, -inf}));

  const PrecisionScope scope(property_bits);
  const Attended<Enclosure> result = attention<Enclosure>(problem);
  const Enclosure one = exp(Enclosure(2 * tanh(ratio(1, 2)))), two = exp(Enclosure(2 * tanh(Enclosure(1))));
  const Enclosure four = exp(Enclosure(2 * tanh(Enclosure(2)))), e = exp(Enclosure(1));
  expect_are(result.at(0, 0, 0).output, {one / (1 + one), 0});
  expect_are(result.at(0, 1, 0).output, {two / (e + two), 0});
  expect_are(result.at(0, 2, 0).output, {1 / (1 + 1 / e), 0});
  const auto row = [&](std::size_t h, const Enclosure& first, const Enclosure& second, const Enclosure& sink) {
    const Enclosure total = sink + first + second;
    expect_are(result.at(0, h, 1).output, {first / total, second / total});
    expect_are(result.at(0, h, 2).output, {0, 0});
  };
  row(0, one * exp(ratio(-1, 16)), two, 1);
  row(1, two * exp(ratio(-1, 256)), 1, e);
  row(2, exp(ratio(-1, 4)), four, 1 / e);
  expect_prints(result.at(0, 2, 1).output(1), 0.8570723959090303);
}

TEST(systems, a_bias_of_ggml_repeats_a_mask_as_a_whole_and_rounds_once) {
  const Tensor<double> mask = tensor_of({2, 2, 1, 1}, {1, 2, 3, 4});
  EXPECT_EQ(ggml_bias(mask, {4, 4, 1, 1}, 0),
            tensor_of({4, 4, 1, 1}, {1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4}));
  const Tensor<double> lowest = ggml_bias(tensor_of({1, 1, 1, 1}, {-65504}), {1, 8, 1, 1}, 8);
  EXPECT_EQ(lowest(0, 0, 0, 0), -32752);
  EXPECT_EQ(lowest(0, 7, 0, 0), -255.875);
  EXPECT_EQ(ggml_bias(tensor_of({1, 1, 1, 1}, {-1}), {1, 12, 1, 1}, 8)(0, 8, 0, 0), -0.7071067811865476);
  EXPECT_EQ(ggml_bias(tensor_of({1, 1, 1, 1}, {-1}), {1, 1, 1, 1}, 3e38F)(0, 0, 0, 0), 0);
}

TEST(systems, arguments_become_fields_of_the_record) {
  EXPECT_EQ(flash_call({.softcap = 30}).softcap, 30);
  EXPECT_EQ(flash_call({}).softcap, std::nullopt);
  EXPECT_EQ(flash_call({.softmax_scale = 0.0}).scale, 0);
  EXPECT_EQ(flash_call({}).empty_row_lse, EmptyRowLse::plus_infinity);
  EXPECT_EQ(flash_call({.version = 3}).empty_row_lse, EmptyRowLse::minus_infinity);
  EXPECT_EQ(flash_call({.version = 3}).alignment, Alignment::bottom_right_actual);
  EXPECT_EQ(runtime_multihead_call({}).scale, std::nullopt);
  EXPECT_EQ(runtime_multihead_call({.scale = 0.5F}).scale, 0.5);
  EXPECT_FALSE(runtime_multihead_call({}).causal);
  EXPECT_TRUE(runtime_group_query_call({}).causal);
  EXPECT_EQ(torch_multihead_call({.dropout = 0.25}).dropout, std::nullopt);
  EXPECT_EQ(torch_multihead_call({.dropout = 0.25, .training = true}).dropout, 0.25);
  EXPECT_EQ(torch_multihead_call({}).mask_polarity, MaskPolarity::true_is_hidden);
  EXPECT_EQ(torch_multihead_call({}).empty_row, EmptyRow::nan);
  EXPECT_EQ(torchlean_call({.probability = 0.5}).dropout, std::nullopt);
  EXPECT_EQ(torchlean_call({.probability = 0.5, .training = true}).dropout, 0.5);
  EXPECT_EQ(ggml_call({.scale = 0.0F}).scale, 0);
  EXPECT_EQ(ggml_call({.scale = 0.1F}).scale, static_cast<double>(0.1F));
  EXPECT_EQ(ggml_call({.scale = 1.0F}).softcap, std::nullopt);
  EXPECT_EQ(ggml_call({.scale = 1.0F, .logit_softcap = 50}).softcap, 50);
  EXPECT_EQ(torchlean_call({}).mask_polarity, MaskPolarity::true_is_visible);
}

}  // namespace
}  // namespace attest
