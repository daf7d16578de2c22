/// ONNX folders of Softmax, RMSNormalization and RotaryEmbedding: what they mean (CNV.D5 to CNV.D7).

#include "support/onnx_nodes.hpp"

namespace attest {
namespace {

// CNV.D5

std::pair<std::size_t, std::size_t> form_of(const OnnxSoftmax& node) {
  const RowForm form = onnx_softmax(node, Tensor<double>::from_shape({2, 3, 4})).form;
  return {form.width, form.inner};
}

TEST(OnnxSoftmax, version_13_takes_one_axis_and_the_versions_before_all_from_it_on) {
  using Form = std::pair<std::size_t, std::size_t>;
  EXPECT_EQ(form_of({.version = 13, .axis = 0}), Form(2, 12));
  EXPECT_EQ(form_of({.version = 13, .axis = 1}), Form(3, 4));
  EXPECT_EQ(form_of({.version = 13, .axis = -2}), Form(3, 4));
  EXPECT_EQ(form_of({.version = 13}), Form(4, 1));
  for (const int version : {1, 11}) {
    EXPECT_EQ(form_of({.version = version, .axis = 0}), Form(24, 1));
    EXPECT_EQ(form_of({.version = version, .axis = 1}), Form(12, 1));
    EXPECT_EQ(form_of({.version = version}), Form(12, 1));
    EXPECT_EQ(form_of({.version = version, .axis = 2}), Form(4, 1));
  }
  EXPECT_EQ(form_of({.version = 11, .axis = -3}), Form(24, 1));
}

TEST(OnnxSoftmax, the_version_is_the_one_that_the_opset_has) {
  const auto version = [](std::int64_t opset) { return softmax(opset).read().record.at(2).value; };
  for (const std::int64_t opset : {1, 10}) EXPECT_EQ(version(opset), "1");
  for (const std::int64_t opset : {11, 12}) EXPECT_EQ(version(opset), "11");
  for (const std::int64_t opset : {13, 27}) EXPECT_EQ(version(opset), "13");
}

// CNV.D6

TEST(OnnxRmsNormalization, a_row_is_all_axes_from_the_axis_on) {
  const auto width = [](std::int64_t axis) {
    NodeFolder folder = rms_normalization();
    folder.integer("axis", axis);
    return folder.read().operation.form.width;
  };
  EXPECT_EQ(rms_normalization().read().operation.form.width, 4u);
  for (const std::int64_t axis : {2, -1}) EXPECT_EQ(width(axis), 4u);
  for (const std::int64_t axis : {1, -2}) EXPECT_EQ(width(axis), 12u);
  for (const std::int64_t axis : {0, -3}) EXPECT_EQ(width(axis), 24u);
}

TEST(OnnxRmsNormalization, the_scale_is_broadcast_to_every_element) {
  const auto scale_at = [](const Dims& dims, std::size_t i, std::size_t j, std::size_t k) {
    NodeFolder folder("RMSNormalization", 23);
    folder.input(0, floats("a", {2, 3, 4}, counting(24)));
    std::size_t count = 1;
    for (const std::int64_t extent : dims) count *= static_cast<std::size_t>(extent);
    folder.input(1, floats("b", dims, counting(count)));
    folder.output(0, zeros("y", {2, 3, 4}));
    return std::get<RmsNormRows>(folder.read().operation.what).scale(i, j, k);
  };
  EXPECT_EQ(scale_at({4}, 1, 2, 3), 3);
  EXPECT_EQ(scale_at({1}, 1, 2, 3), 0);
  EXPECT_EQ(scale_at({3, 1}, 1, 2, 3), 2);
  EXPECT_EQ(scale_at({2, 1, 1}, 1, 2, 3), 1);
  EXPECT_EQ(scale_at({2, 3, 4}, 1, 2, 3), 23);
}

TEST(OnnxRmsNormalization, epsilon_is_the_exact_value_of_the_float) {
  const auto epsilon = [](const NodeFolder& folder) {
    return std::get<RmsNormRows>(folder.read().operation.what).epsilon;
  };
  EXPECT_EQ(epsilon(rms_normalization()), 0x1.4f8b58p-17);
  NodeFolder folder = rms_normalization();
  folder.number("epsilon", 0.1F);
  EXPECT_EQ(epsilon(folder), 0x1.99999ap-4);
}

TEST(OnnxRmsNormalization, the_output_has_the_type_of_the_scale) {
  NodeFolder folder("RMSNormalization", 23);
  folder.input(0, floats("a", {2, 4}, counting(8)));
  onnx::TensorProto scale = empty_tensor("b", onnx::TensorProto::DOUBLE, {4});
  onnx::TensorProto answer = empty_tensor("y", onnx::TensorProto::DOUBLE, {2, 4});
  for (int n = 0; n < 4; ++n) scale.add_double_data(n);
  for (int n = 0; n < 8; ++n) answer.add_double_data(n);
  folder.input(1, scale);
  folder.output(0, answer);
  EXPECT_EQ(folder.read().outputs.at("out").format, Format::f64);
}

TEST(OnnxRmsNormalization, the_record_has_every_attribute_and_the_types) {
  NodeFolder folder = rms_normalization();
  folder.integer("stash_type", 10);
  std::string text;
  for (const Setting& one : folder.read().record) text += one.key + "=" + one.value + ";";
  EXPECT_EQ(text,
            "convention=onnx;operator=RMSNormalization;version=23;axis=-1;epsilon=9.999999747378752e-06;"
            "arithmetic=onnx: computed in T=float32, stash_type=float16;");
}

// CNV.D7

RotaryRows rotary_of(const NodeFolder& folder) { return std::get<RotaryRows>(folder.read().operation.what); }

TEST(OnnxRotaryEmbedding, every_head_of_a_token_has_the_place_of_the_token) {
  const std::vector<std::size_t> heads_first{0, 4, 0, 4, 0, 4, 3, 1, 3, 1, 3, 1};
  EXPECT_EQ(rotary_of(rotary_embedding()).places, heads_first);
  NodeFolder packed = rotary_embedding({2, 2, 12});
  packed.integer("num_heads", 3);
  const std::vector<std::size_t> heads_last{0, 0, 0, 4, 4, 4, 3, 3, 3, 1, 1, 1};
  EXPECT_EQ(rotary_of(packed).places, heads_last);
  EXPECT_EQ(packed.read().operation.form.width, 4u);
}

TEST(OnnxRotaryEmbedding, without_position_ids_every_token_has_its_row) {
  NodeFolder folder("RotaryEmbedding", 23);
  folder.input(0, floats("x", {2, 1, 3, 4}, counting(24)));
  folder.input(1, floats("cos", {2, 3, 1}, counting(6)));
  folder.input(2, floats("sin", {2, 3, 1}, counting(6)));
  folder.output(0, zeros("y", {2, 1, 3, 4}));
  folder.integer("rotary_embedding_dim", 2);
  const RotaryRows rotary = rotary_of(folder);
  EXPECT_EQ(rotary.places, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(rotary.cosines(5, 0), 5);
  EXPECT_EQ(rotary.cosines.shape(1), 1u);
}

TEST(OnnxRotaryEmbedding, interleaved_is_the_pairing) {
  EXPECT_EQ(rotary_of(rotary_embedding()).pairing, Pairing::halves);
  NodeFolder folder = rotary_embedding();
  folder.integer("interleaved", 1);
  EXPECT_EQ(rotary_of(folder).pairing, Pairing::interleaved);
}

TEST(OnnxRotaryEmbedding, a_dimension_of_zero_is_the_whole_head) {
  NodeFolder folder = rotary_embedding();
  folder.integer("rotary_embedding_dim", 0);
  folder.integer("num_heads", 3);
  EXPECT_EQ(rotary_of(folder).cosines.shape(1), 2u);
}

}  // namespace
}  // namespace attest
