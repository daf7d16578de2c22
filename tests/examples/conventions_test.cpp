/// Chapter 20: the examples.

#include "attest/conventions/onnx.hpp"
#include "attest/conventions/systems.hpp"
#include "support/generators.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

/// A call with one head; only its extents matter here.
Problem sized(const Call& call, std::size_t queries, std::size_t keys) {
  Problem problem{call, {}};
  problem.inputs.q = Tensor<double>::from_shape({1, 1, queries, 1});
  problem.inputs.k = problem.inputs.v = Tensor<double>::from_shape({1, 1, keys, 1});
  return problem;
}

/// Rows of visible keys, as the specification writes them.
Matrix<bool> visible_set(std::initializer_list<std::string_view> rows) {
  return tabulate(rows.size(), rows.begin()->size(),
                  [&](std::size_t i, std::size_t j) { return rows.begin()[i][j] == '1'; });
}

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
  EXPECT_EQ(torchlean_call({}).mask_polarity, MaskPolarity::true_is_visible);
}

}  // namespace
}  // namespace attest
