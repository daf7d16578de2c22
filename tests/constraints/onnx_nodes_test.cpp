/// ONNX folders of Softmax, RMSNormalization and RotaryEmbedding: what they mean (CNV.D5 to CNV.D7), and what is
/// refused (CAS.C12, CAS.C13, CAS.C14).

#include "attest/conventions/onnx_nodes.hpp"

#include "support/onnx_folders.hpp"

namespace attest {
namespace {

std::vector<float> counting(std::size_t n) {
  std::vector<float> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(static_cast<float>(i));
  return values;
}

NodeFolder softmax(std::int64_t opset) {
  NodeFolder folder("Softmax", opset);
  folder.input(0, floats("x", {2, 3, 4}, counting(24)));
  folder.output(0, zeros("y", {2, 3, 4}));
  return folder;
}

NodeFolder rms_normalization() {
  NodeFolder folder("RMSNormalization", 23);
  folder.input(0, floats("a", {2, 3, 4}, counting(24)));
  folder.input(1, floats("b", {4}, {1, 2, 3, 4}));
  folder.output(0, zeros("y", {2, 3, 4}));
  return folder;
}

/// Two batch entries, three heads, two places, width 4; a cache of five positions.
NodeFolder rotary_embedding(const Dims& x = {2, 3, 2, 4}) {
  NodeFolder folder("RotaryEmbedding", 23);
  folder.input(0, floats("x", x, counting(48)));
  folder.input(1, floats("cos", {5, 2}, counting(10)));
  folder.input(2, floats("sin", {5, 2}, counting(10)));
  onnx::TensorProto ids = empty_tensor("ids", onnx::TensorProto::INT64, {2, 2});
  for (const std::int64_t id : {0, 4, 3, 1}) ids.add_int64_data(id);
  folder.input(3, ids);
  folder.output(0, zeros("y", x));
  return folder;
}

void set_integer(GraphFolder& folder, const std::string& name, std::int64_t value) { folder.integer(name, value); }

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

// Refusals

CONSTRAINT(CAS_C12, a_node_is_one_that_attest_knows) {
  const auto rename = [](NodeFolder& f) { f.node().set_op_type("LogSoftmax"); };
  expect_refused(softmax(13), rename, "CAS.C12", "Attention, Softmax, RMSNormalization or RotaryEmbedding");
  expect_refusal(refusal_of([] { softmax(0).read(); }), "CAS.C12", "opset_import");
  expect_refusal(refusal_of([] { softmax(28).read(); }), "CAS.C12", "opset_import");
  const auto opset_22 = [](NodeFolder& f) { f.model.mutable_opset_import(0)->set_version(22); };
  expect_refused(rms_normalization(), opset_22, "CAS.C12", "opset_import");
  expect_refused(rotary_embedding(), opset_22, "CAS.C12", "opset_import");
}

CONSTRAINT(CAS_C12, a_node_has_the_tensors_of_its_operator) {
  const auto two = [](NodeFolder& f) { f.input(1, zeros("more", {1})); };
  expect_refused(softmax(13), two, "CAS.C12", "inputs of Softmax");
  const auto absent = [](NodeFolder& f) { f.node().set_input(1, ""); };
  expect_refused(rotary_embedding(), absent, "CAS.C12", "cos");
  const auto one = [](NodeFolder& f) { f.node().mutable_input()->RemoveLast(); };
  expect_refused(rms_normalization(), one, "CAS.C12", "b");
  const auto twice = [](NodeFolder& f) { f.output(1, zeros("z", {1})); };
  expect_refused(softmax(13), twice, "CAS.C12", "outputs of Softmax");
}

CONSTRAINT(CAS_C13, an_axis_is_one_of_the_tensors) {
  const auto axis = [](std::int64_t value) { return [=](NodeFolder& f) { f.integer("axis", value); }; };
  for (const std::int64_t bad : {std::int64_t(3), std::int64_t(-4), std::numeric_limits<std::int64_t>::min()}) {
    expect_refused(softmax(13), axis(bad), "CAS.C13", "axis");
    expect_refused(rms_normalization(), axis(bad), "CAS.C13", "axis");
  }
  expect_refused(softmax(10), axis(-1), "CAS.C13", "axis");
  EXPECT_EQ(refusal_of([&] {
              NodeFolder folder = softmax(11);
              axis(-1)(folder);
              folder.read();
            }),
            "");
}

CONSTRAINT(CAS_C13, an_attribute_is_one_that_the_operator_has) {
  const auto foreign = [](NodeFolder& f) { f.integer("is_causal", 1); };
  expect_refused(softmax(13), foreign, "CAS.C13", "is_causal");
  expect_refused(rms_normalization(), foreign, "CAS.C13", "is_causal");
  expect_refused(rotary_embedding(), foreign, "CAS.C13", "is_causal");
  const auto number = [](NodeFolder& f) { f.number("axis", 1); };
  expect_refused(softmax(13), number, "CAS.C13", "axis");
  const auto integer = [](NodeFolder& f) { f.integer("epsilon", 1); };
  expect_refused(rms_normalization(), integer, "CAS.C13", "epsilon");
}

CONSTRAINT(CAS_C13, numbers_of_a_node_have_a_meaning) {
  for (const float bad : {-1e-5F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const auto epsilon = [bad](NodeFolder& f) { f.number("epsilon", bad); };
    expect_refused(rms_normalization(), epsilon, "CAS.C13", "epsilon");
  }
  const auto set = [](const std::string& name, std::int64_t value) {
    return [=](NodeFolder& f) { set_integer(f, name, value); };
  };
  expect_refused(rms_normalization(), set("stash_type", 7), "CAS.C13", "stash_type");
  expect_refused(rotary_embedding(), set("interleaved", 2), "CAS.C13", "interleaved");
  expect_refused(rotary_embedding(), set("num_heads", 2), "CAS.C13", "num_heads");
  for (const std::int64_t bad : {-2, 3, 6}) {
    expect_refused(rotary_embedding(), set("rotary_embedding_dim", bad), "CAS.C13", "rotary_embedding_dim");
  }
  for (const std::int64_t bad : {0, -1, 5, 24}) {
    NodeFolder packed = rotary_embedding({2, 2, 12});
    packed.integer("num_heads", 3);
    const auto change = [bad](NodeFolder& f) { f.node().mutable_attribute(0)->set_i(bad); };
    expect_refused(packed, change, "CAS.C13", "num_heads");
  }
  NodeFolder packed = rotary_embedding({2, 2, 12});
  expect_refusal(refusal_of([&] { packed.read(); }), "CAS.C13", "num_heads");
}

CONSTRAINT(CAS_C14, the_tensors_of_a_node_fit_each_other) {
  const auto other_answer = [](NodeFolder& f) {
    f.graph().clear_output();
    f.outputs.clear();
    f.output(0, zeros("y", {2, 12}));
  };
  expect_refused(softmax(13), other_answer, "CAS.C14", "output (output_0.pb)");
  const auto replaced = [](std::size_t n, const onnx::TensorProto& tensor) {
    return [=](NodeFolder& f) {
      *f.graph().mutable_input(static_cast<int>(n)) = declaration(tensor);
      f.inputs[n] = tensor;
    };
  };
  expect_refused(rms_normalization(), replaced(1, zeros("b", {3})), "CAS.C14", "scale");
  expect_refused(rms_normalization(), replaced(1, zeros("b", {1, 2, 3, 4})), "CAS.C14", "scale");
  expect_refused(rotary_embedding(), replaced(1, zeros("cos", {5, 3})), "CAS.C14", "cos_cache");
  expect_refused(rotary_embedding(), replaced(1, zeros("cos", {2, 2, 2})), "CAS.C14", "cos_cache");
  expect_refused(rotary_embedding(), replaced(2, zeros("sin", {4, 2})), "CAS.C14", "sin_cache");
  expect_refused(rotary_embedding(), replaced(3, integers("ids", {0, 1})), "CAS.C14", "position_ids");
  expect_refused(rotary_embedding(), replaced(0, zeros("x", {2, 3, 2, 5})), "CAS.C14", "X");
  expect_refused(rotary_embedding(), replaced(0, zeros("x", {2, 4})), "CAS.C14", "X");
  for (const std::int64_t bad : {std::int64_t(5), std::int64_t(-1)}) {
    const auto id = [bad](NodeFolder& f) { f.inputs[3].set_int64_data(2, bad); };
    expect_refused(rotary_embedding(), id, "CAS.C14", "position_ids");
  }
}

CONSTRAINT(CAS_C14, the_element_types_of_a_node_are_its_operators) {
  const auto as = [](int type) {
    return [=](NodeFolder& f) {
      const auto count = static_cast<std::size_t>(f.inputs[0].raw_data().size() / sizeof(float));
      const std::size_t width = type == onnx::TensorProto::DOUBLE ? 8 : 2;
      f.inputs[0].set_data_type(type);
      f.inputs[0].set_raw_data(std::string(count * width, '\0'));
      f.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(type);
    };
  };
  expect_refused(softmax(11), as(onnx::TensorProto::BFLOAT16), "CAS.C14", "input (input_0.pb)");
  expect_refused(rotary_embedding(), as(onnx::TensorProto::DOUBLE), "CAS.C14", "X (input_0.pb)");
  expect_refused(rotary_embedding(), as(onnx::TensorProto::FLOAT16), "CAS.C14", "cos_cache (input_1.pb)");
  expect_refused(softmax(13), as(onnx::TensorProto::FLOAT16), "CAS.C14", "output (output_0.pb)");
  const auto floats_as_ids = [](NodeFolder& f) {
    const onnx::TensorProto ids = zeros("ids", {2, 2});
    *f.graph().mutable_input(3) = declaration(ids);
    f.inputs[3] = ids;
  };
  expect_refused(rotary_embedding(), floats_as_ids, "CAS.C14", "position_ids (input_3.pb)");
}

CONSTRAINT(CAS_C5, a_node_has_no_call_record) {
  expect_refusal(refusal_of([] { softmax(13).read({{"axis", "0"}}); }), "CAS.C5", "axis");
}

CONSTRAINT(CAS_C17, an_attention_call_is_not_another_kind_of_case) {
  const TemporaryFolder folder;
  NodeFolder node = softmax(13);
  folder.write("model.onnx", node.model.SerializeAsString());
  folder.write("test_data_set_0/input_0.pb", node.inputs[0].SerializeAsString());
  folder.write("test_data_set_0/output_0.pb", node.outputs[0].SerializeAsString());
  EXPECT_TRUE(refuses("CAS.C17", "an attention call", [&] { read_case(folder.path()); }));
}

}  // namespace
}  // namespace attest
