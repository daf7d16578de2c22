/// ONNX folders: what the node's inputs and attributes mean (CNV.D2).

#include "support/onnx_folders.hpp"

namespace attest {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// CNV.D2: alignment

TEST(OnnxCall, the_causal_frontier_starts_at_the_first_key_without_a_cache) {
  EXPECT_EQ(onnx_call({.is_causal = 1}).alignment, Alignment::top_left);
  EXPECT_TRUE(onnx_call({.is_causal = 1}).causal);
  EXPECT_FALSE(onnx_call({}).causal);
}

TEST(OnnxCall, cached_keys_move_the_causal_frontier_by_their_number) {
  Folder folder(24);
  folder.integer("is_causal", 1);
  folder.input(4, floats("past_key", {1, 1, 1, 2}, {1, 2}));
  folder.input(5, floats("past_value", {1, 1, 1, 2}, {3, 4}));
  const Problem problem = folder.read().problem;
  EXPECT_EQ(problem.call.alignment, Alignment::after_past);
  EXPECT_EQ(problem.inputs.past, 1U);
  EXPECT_EQ(problem.inputs.k(0, 0, 0, 1), 2);
  EXPECT_EQ(problem.inputs.k(0, 0, 1, 1), 0);
  EXPECT_TRUE(is_visible(problem, 0, 0, 0, 1));
  EXPECT_FALSE(is_visible(problem, 0, 0, 0, 2));
}

TEST(OnnxCall, an_external_cache_aligns_the_last_query_with_the_last_key_of_each_batch_entry) {
  Folder folder(24, {2, 1, 2, 2}, {2, 1, 3, 2});
  folder.integer("is_causal", 1);
  folder.input(6, integers("nonpad_kv_seqlen", {3, 1}));
  const Problem problem = folder.read().problem;
  EXPECT_EQ(problem.call.alignment, Alignment::offsets);
  EXPECT_EQ((*problem.inputs.offsets)(0), 1);
  EXPECT_EQ((*problem.inputs.offsets)(1), -1);
  EXPECT_EQ((*problem.inputs.k_lengths)(1), 1);
  EXPECT_FALSE(is_visible(problem, 1, 0, 0, 0));
  EXPECT_TRUE(is_visible(problem, 1, 0, 1, 0));
}

// CNV.D2: numbers

TEST(OnnxCall, windows_do_not_count_the_querys_own_key) {
  const Call call = onnx_call({.version = 25, .left_window_size = 2, .right_window_size = 0});
  EXPECT_EQ(call.window_left, 2);
  EXPECT_EQ(call.window_right, 0);
  EXPECT_EQ(call.window_counts, WindowCounts::others);
}

TEST(OnnxCall, a_window_of_minus_one_or_beyond_every_key_is_unbounded) {
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const Call call = onnx_call({.version = 25, .left_window_size = -1, .right_window_size = largest});
  EXPECT_EQ(call.window_left, std::nullopt);
  EXPECT_EQ(call.window_right, std::nullopt);
}

TEST(OnnxCall, an_absent_scale_is_the_root_and_zero_is_zero) {
  EXPECT_EQ(onnx_call({}).scale, std::nullopt);
  EXPECT_EQ(onnx_call({.scale = 0.0F}).scale, 0.0);
  EXPECT_EQ(onnx_call({.scale = 0.1F}).scale, 0x1.99999ap-4);
  EXPECT_EQ(onnx_call({.softcap = 0.0F}).softcap, std::nullopt);
  EXPECT_EQ(onnx_call({.softcap = 2.0F}).softcap, 2.0);
}

TEST(OnnxCall, the_record_says_in_which_types_the_operator_computes) {
  EXPECT_EQ(onnx_call({.type = Format::f16, .softmax_precision = 1}).arithmetic,
            "onnx: computed in T1=float16, softmax_precision=float32");
  EXPECT_EQ(onnx_call({}).arithmetic, "onnx: computed in T1=float32, softmax_precision=T1");
}

TEST(OnnxCall, an_opset_after_25_has_the_version_of_25) {
  EXPECT_EQ(Folder(27).read().problem.call.convention, "onnx-25");
  EXPECT_EQ(Folder(24).read().problem.call.convention, "onnx-24");
}

// CNV.D2: qk_matmul_output

TEST(OnnxCall, the_modes_of_the_scores_output_follow_the_pipeline_since_1_22) {
  using enum ScoreStage;
  const auto stage = [](std::int64_t mode, QkModes modes) {
    return onnx_call({.qk_matmul_output_mode = mode}, modes).scores_stage;
  };
  EXPECT_EQ(onnx_call({}).scores_stage, scaled);
  EXPECT_EQ(stage(0, QkModes::current), scaled);
  EXPECT_EQ(stage(1, QkModes::current), capped);
  EXPECT_EQ(stage(2, QkModes::current), biased);
  EXPECT_EQ(stage(0, QkModes::before_1_22), scaled);
  EXPECT_EQ(stage(1, QkModes::before_1_22), biased);
  EXPECT_EQ(stage(2, QkModes::before_1_22), capped);
}

TEST(OnnxCall, mode_3_is_the_weights_output_in_both_numberings) {
  Folder folder;
  folder.integer("qk_matmul_output_mode", 3);
  folder.output(3, zeros("qk", {1, 1, 2, 3}));
  for (const std::string modes : {"current", "before-1.22"}) {
    const Case read = folder.read({{"onnx_qk_modes", modes}});
    EXPECT_TRUE(read.outputs.contains("weights"));
    EXPECT_FALSE(read.outputs.contains("scores"));
  }
}

TEST(OnnxCall, an_override_chooses_the_numbering) {
  Folder folder;
  folder.integer("qk_matmul_output_mode", 1);
  folder.output(3, zeros("qk", {1, 1, 2, 3}));
  EXPECT_TRUE(folder.read().outputs.contains("scores"));
  EXPECT_EQ(folder.read().problem.call.scores_stage, ScoreStage::capped);
  EXPECT_EQ(folder.read({{"onnx_qk_modes", "before-1.22"}}).problem.call.scores_stage, ScoreStage::biased);
  expect_refusal(refusal_of([&] { folder.read({{"onnx_qk_modes", "old"}}); }), "CAS.C7", "onnx_qk_modes");
}

TEST(OnnxCall, other_overrides_win_over_the_model) {
  EXPECT_TRUE(Folder().read({{"causal", "true"}}).problem.call.causal);
  expect_refusal(refusal_of([] { Folder().read({{"layout", "BSD"}}); }), "CAS.C7", "layout");
}

// CNV.D2: masks

/// A folder with a boolean mask over two of the three keys.
Folder with_short_mask(std::int64_t opset, const std::string& bytes) {
  Folder folder(opset);
  folder.input(3, booleans("attn_mask", {static_cast<std::int64_t>(bytes.size())}, bytes));
  return folder;
}

TEST(OnnxCall, a_short_mask_hides_the_rest_since_24_and_is_refused_before) {
  const Tensor<bool> visible = *with_short_mask(24, "\1\1").read().problem.inputs.visible;
  EXPECT_EQ(visible.dimension(), 4U);
  EXPECT_TRUE(visible(0, 0, 0, 1));
  EXPECT_FALSE(visible(0, 0, 0, 2));
  const std::string text = refusal_of([] { with_short_mask(23, "\1\1").read(); });
  EXPECT_NE(text.find("attn_mask (input_3.pb)"), std::string::npos) << text;
}

TEST(OnnxCall, a_mask_of_one_key_is_broadcast_in_23_and_short_since_24) {
  const Tensor<bool> before = *with_short_mask(23, "\1").read().problem.inputs.visible;
  EXPECT_TRUE(broadcast_at(before, 0, 0, 1, 2));
  for (const std::int64_t opset : {24, 25}) {
    const Tensor<bool> since = *with_short_mask(opset, "\1").read().problem.inputs.visible;
    EXPECT_TRUE(broadcast_at(since, 0, 0, 1, 0));
    EXPECT_FALSE(broadcast_at(since, 0, 0, 1, 2));
  }
}

TEST(OnnxCall, a_short_float_mask_continues_with_minus_infinity) {
  Folder folder(25);
  folder.input(3, floats("attn_mask", {2, 2}, {1, 2, 3, 4}));
  const Tensor<double> bias = *folder.read().problem.inputs.bias;
  EXPECT_EQ(bias(0, 0, 1, 0), 3);
  EXPECT_EQ(bias(0, 0, 1, 2), -infinity);
}

TEST(OnnxCall, a_mask_of_three_axes_has_heads_first) {
  Folder folder(23, {2, 2, 1, 2}, {2, 2, 1, 2});
  folder.input(3, booleans("attn_mask", {2, 1, 1}, std::string("\0\1", 2)));
  const Tensor<bool> visible = *folder.read().problem.inputs.visible;
  for (const std::size_t b : {0U, 1U}) {
    EXPECT_FALSE(broadcast_at(visible, b, 0, 0, 0));
    EXPECT_TRUE(broadcast_at(visible, b, 1, 0, 0));
  }
}

TEST(OnnxCall, a_float_mask_may_have_a_wider_type_if_its_numbers_do_not) {
  onnx::TensorProto mask = empty_tensor("attn_mask", onnx::TensorProto::DOUBLE, {3});
  for (const double value : {0.5, -infinity, 0.0}) mask.add_double_data(value);
  Folder folder;
  folder.input(3, mask);
  EXPECT_EQ((*folder.read().problem.inputs.bias)(0, 0, 0, 1), -infinity);
  folder.inputs[3].set_double_data(0, 0.1);
  expect_refusal(refusal_of([&] { folder.read(); }), "CAS.C14", "attn_mask (input_3.pb)");
}

// Tensors

TEST(OnnxTensors, heads_lie_beside_each_other_in_three_axes) {
  Folder folder(23, {1, 2, 4}, {1, 3, 4});
  folder.integer("q_num_heads", 2);
  folder.integer("kv_num_heads", 2);
  folder.inputs[0] = floats("Q", {1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  folder.outputs[0] = floats("Y", {1, 2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Case read = folder.read();
  EXPECT_EQ(read.problem.call.layout, Layout::bsd);
  EXPECT_EQ(read.problem.inputs.q(0, 1, 0, 0), 2);
  EXPECT_EQ(read.problem.inputs.q(0, 0, 1, 0), 4);
  EXPECT_EQ(read.outputs.at("out").values(0, 1, 0, 0), 2);
}

TEST(OnnxTensors, typed_fields_are_read_like_raw_data) {
  Folder folder;
  folder.inputs[0].clear_raw_data();
  for (const float value : {1.0F, 2.0F, -0.0F, 0.5F}) folder.inputs[0].add_float_data(value);
  onnx::TensorProto mask = empty_tensor("attn_mask", onnx::TensorProto::BOOL, {3});
  for (const int value : {1, 0, 1}) mask.add_int32_data(value);
  folder.input(3, mask);
  const Inputs inputs = folder.read().problem.inputs;
  EXPECT_EQ(inputs.q(0, 0, 0, 1), 2);
  EXPECT_TRUE(std::signbit(inputs.q(0, 0, 1, 0)));
  EXPECT_FALSE((*inputs.visible)(0, 0, 0, 1));
}

/// The folder with every tensor of a 16-bit type, each element with the same code.
Folder sixteen_bits(int type, int code) {
  Folder folder;
  for (auto* tensors : {&folder.inputs, &folder.outputs}) {
    for (onnx::TensorProto& tensor : *tensors) {
      const std::size_t count = tensor.raw_data().size() / sizeof(float);
      tensor.clear_raw_data();
      tensor.set_data_type(type);
      for (std::size_t n = 0; n < count; ++n) tensor.add_int32_data(code);
    }
  }
  for (auto* declared : {folder.graph().mutable_input(), folder.graph().mutable_output()}) {
    for (auto& value : *declared) value.mutable_type()->mutable_tensor_type()->set_elem_type(type);
  }
  return folder;
}

TEST(OnnxTensors, sixteen_bit_formats_lie_in_int32_data_by_their_codes) {
  const Case half = sixteen_bits(onnx::TensorProto::FLOAT16, 0xC000).read();
  EXPECT_EQ(half.problem.inputs.v(0, 0, 2, 1), -2);
  EXPECT_EQ(half.outputs.at("out").format, Format::f16);
  const Case brain = sixteen_bits(onnx::TensorProto::BFLOAT16, 0x3F80).read();
  EXPECT_EQ(brain.problem.inputs.v(0, 0, 2, 1), 1);
  EXPECT_EQ(brain.outputs.at("out").format, Format::bf16);
}

TEST(OnnxTensors, what_an_implementation_answered_is_kept_as_it_is) {
  Folder folder;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  folder.outputs[0] = floats("Y", {1, 1, 2, 2}, {nan, -std::numeric_limits<float>::infinity(), 0, 1});
  const Tensor<double> out = folder.read().outputs.at("out").values;
  EXPECT_TRUE(std::isnan(out(0, 0, 0, 0)));
  EXPECT_EQ(out(0, 0, 0, 1), -infinity);
}

TEST(OnnxTensors, an_empty_cache_changes_nothing) {
  Folder folder;
  folder.input(4, zeros("past_key", {1, 1, 0, 2}));
  folder.input(5, zeros("past_value", {1, 1, 0, 2}));
  const Problem problem = folder.read().problem;
  EXPECT_EQ(problem.inputs.past, 0U);
  EXPECT_EQ(problem.inputs.k.shape(2), 3U);
}

}  // namespace
}  // namespace attest
