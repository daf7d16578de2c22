/// ONNX folders of Softmax, RMSNormalization and RotaryEmbedding: what is refused (CAS.C12, CAS.C13, CAS.C14).

#include "support/onnx_nodes.hpp"

namespace attest {
namespace {

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
    return [=](NodeFolder& f) { f.integer(name, value); };
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
