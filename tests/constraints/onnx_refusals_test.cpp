/// ONNX folders: what is refused (CAS.C12, CAS.C13, CAS.C14).

#include "support/onnx_folders.hpp"

namespace attest {
namespace {

CONSTRAINT(CAS_C12, a_graph_is_one_attention_node) {
  expect_refused(
      Folder(), [](Folder& f) { f.graph().clear_node(); }, "CAS.C12", "one node, got 0");
  expect_refused(
      Folder(), [](Folder& f) { f.graph().add_node()->set_op_type("Add"); }, "CAS.C12", "one node, got 2");
  expect_refused(
      Folder(), [](Folder& f) { f.node().set_op_type("Soft\nmax"); }, "CAS.C12", "op_type");
  expect_refused(
      Folder(), [](Folder& f) { f.node().set_domain("com.microsoft"); }, "CAS.C12", "domain");
  expect_refused(
      Folder(), [](Folder& f) { f.graph().add_initializer(); }, "CAS.C12", "initializers");
}

CONSTRAINT(CAS_C12, the_opset_is_one_that_has_attention) {
  for (const std::int64_t opset : {std::int64_t(-1), std::int64_t(22), std::int64_t(28)}) {
    const auto set = [opset](Folder& f) { f.model.mutable_opset_import(0)->set_version(opset); };
    expect_refused(Folder(), set, "CAS.C12", "opset_import");
  }
  expect_refused(
      Folder(), [](Folder& f) { f.model.clear_opset_import(); }, "CAS.C12", "opset_import");
  expect_refused(
      Folder(), [](Folder& f) { f.model.add_opset_import()->set_version(24); }, "CAS.C12", "once");
}

CONSTRAINT(CAS_C12, the_inputs_are_those_of_the_version) {
  const auto nonpad = [](Folder& f) { f.input(6, integers("nonpad_kv_seqlen", {3})); };
  const auto past_key = [](Folder& f) { f.input(4, zeros("past_key", {1, 1, 1, 2})); };
  const auto past_and_nonpad = [=](Folder& f) {
    past_key(f);
    f.input(5, zeros("past_value", {1, 1, 1, 2}));
    nonpad(f);
  };
  expect_refused(Folder(23), nonpad, "CAS.C12", "3 to 6 inputs");
  expect_refused(Folder(23), past_key, "CAS.C12", "past_value");
  expect_refused(Folder(24), past_and_nonpad, "CAS.C12", "nonpad_kv_seqlen");
  expect_refused(
      Folder(), [](Folder& f) { f.node().set_input(1, ""); }, "CAS.C12", "K");
  expect_node_refused({.version = 23, .nonpad = true}, "CAS.C12", "nonpad_kv_seqlen");
  expect_node_refused({.version = 22}, "CAS.C12", "version");
}

CONSTRAINT(CAS_C12, the_graph_shows_the_nodes_tensors_and_no_others) {
  expect_refused(
      Folder(), [](Folder& f) { f.node().set_input(2, "elsewhere"); }, "CAS.C12", "V");
  expect_refused(
      Folder(), [](Folder& f) { f.node().set_output(0, "elsewhere"); }, "CAS.C12", "Y");
  expect_refused(
      Folder(), [](Folder& f) { *f.graph().add_input() = f.graph().input(0); }, "CAS.C12", "once");
  const auto sequence = [](Folder& f) { f.graph().mutable_input(0)->mutable_type()->mutable_sequence_type(); };
  expect_refused(Folder(), sequence, "CAS.C12", "a tensor");
}

// CAS.C13: the attributes

CONSTRAINT(CAS_C13, an_attribute_is_one_that_attention_has) {
  expect_refused(
      Folder(), [](Folder& f) { f.integer("unidirectional", 1); }, "CAS.C13", "unidirectional");
  expect_refused(
      Folder(), [](Folder& f) { f.number("is_causal", 1); }, "CAS.C13", "is_causal");
  expect_refused(
      Folder(), [](Folder& f) { f.integer("scale", 1); }, "CAS.C13", "scale");
  const auto twice = [](Folder& f) {
    f.number("scale", 1);
    f.number("scale", 1);
  };
  expect_refused(Folder(), twice, "CAS.C13", "twice");
  const auto reference = [](Folder& f) {
    f.attribute("scale", onnx::AttributeProto::FLOAT).set_ref_attr_name("outer");
  };
  expect_refused(Folder(), reference, "CAS.C13", "reference");
}

CONSTRAINT(CAS_C13, windows_are_of_version_25_and_at_least_minus_one) {
  for (const std::int64_t opset : {23, 24}) {
    const auto window = [](Folder& f) { f.integer("left_window_size", 2); };
    expect_refused(Folder(opset), window, "CAS.C13", "left_window_size");
  }
  expect_node_refused({.version = 25, .left_window_size = -2}, "CAS.C13", "left_window_size");
  expect_node_refused({.version = 25, .right_window_size = -2}, "CAS.C13", "right_window_size");
}

CONSTRAINT(CAS_C13, numbers_have_a_meaning) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {-0.5F, nan, std::numeric_limits<float>::infinity()}) {
    expect_node_refused({.scale = bad}, "CAS.C13", "scale");
    expect_node_refused({.softcap = bad}, "CAS.C13", "softcap");
  }
  expect_node_refused({.is_causal = 2}, "CAS.C13", "is_causal");
  expect_node_refused({.qk_matmul_output_mode = 4}, "CAS.C13", "qk_matmul_output_mode");
  expect_node_refused({.qk_matmul_output_mode = -1}, "CAS.C13", "qk_matmul_output_mode");
  expect_node_refused({.softmax_precision = 7}, "CAS.C13", "softmax_precision");
}

CONSTRAINT(CAS_C13, the_number_of_heads_splits_the_channels) {
  const OnnxAttention three{.rank = 3, .q_num_heads = 2, .kv_num_heads = 2};
  EXPECT_NO_THROW(onnx_call(three));
  OnnxAttention without = three;
  without.kv_num_heads = std::nullopt;
  expect_node_refused(without, "CAS.C13", "kv_num_heads");
  OnnxAttention none = three;
  none.q_num_heads = 0;
  expect_node_refused(none, "CAS.C13", "q_num_heads");
  expect_node_refused({.version = 25, .q_num_heads = 2}, "CAS.C13", "q_num_heads");
  for (const std::int64_t heads : {std::int64_t(3), std::int64_t(8), std::numeric_limits<std::int64_t>::max()}) {
    Folder packed(23, {1, 2, 4}, {1, 3, 4});
    packed.integer("kv_num_heads", 2);
    packed.integer("q_num_heads", 2);
    const auto set = [heads](Folder& f) { f.node().mutable_attribute(1)->set_i(heads); };
    expect_refused(packed, set, "CAS.C13", "q_num_heads");
  }
  expect_refused(
      Folder(24), [](Folder& f) { f.integer("q_num_heads", 2); }, "CAS.C13", "q_num_heads");
}

// CAS.C14: the tensors

CONSTRAINT(CAS_C14, every_file_is_there_and_parses) {
  const auto spoil = [](const std::string& file, const std::string& bytes) {
    return [=](Folder& f) { f.spoiled[file] = bytes; };
  };
  expect_refused(Folder(), spoil("model.onnx", "not a model"), "CAS.C14", "model.onnx");
  expect_refused(Folder(), spoil("test_data_set_0/input_1.pb", "\xff"), "CAS.C14", "input_1.pb");
  const std::string whole = zeros("Y", {1, 1, 2, 2}).SerializeAsString();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    expect_refused(Folder(), spoil("test_data_set_0/output_0.pb", whole.substr(0, length)), "CAS.C14", "output_0.pb");
  }
  expect_refused(
      Folder(), [](Folder& f) { f.outputs.clear(); }, "CAS.C14", "output_0.pb");
}

CONSTRAINT(CAS_C14, a_tensor_holds_exactly_its_data) {
  using Spoil = std::function<void(onnx::TensorProto&)>;
  const std::int64_t huge = std::int64_t(1) << 40;
  const std::map<std::string, Spoil> spoils = {
      {"4 elements", [](auto& t) { t.mutable_raw_data()->pop_back(); }},
      {"8 elements", [](auto& t) { t.set_dims(0, 2); }},
      {"2^48", [=](auto& t) { t.set_dims(0, huge), t.set_dims(1, huge); }},
      {"empty rows", [=](auto& t) { t.set_dims(0, huge), t.set_dims(1, 0), t.clear_raw_data(); }},
      {">= 0", [](auto& t) { t.set_dims(3, -2); }},
      {"at most 4 axes", [](auto& t) { t.add_dims(1); }},
      {"2 fields", [](auto& t) { t.add_float_data(1); }},
      {"0 fields", [](auto& t) { t.clear_raw_data(); }},
      {"got 0 bytes", [](auto& t) { t.clear_raw_data(), t.add_double_data(1); }},
      {"external_data", [](auto& t) { t.set_data_location(onnx::TensorProto::EXTERNAL); }},
      {"external_data: the", [](auto& t) { t.add_external_data()->set_key("location"); }},
      {"segment", [](auto& t) { t.mutable_segment()->set_begin(0); }},
      {"data_type", [](auto& t) { t.set_data_type(onnx::TensorProto::STRING); }},
      {"got 99", [](auto& t) { t.set_data_type(99); }},
      {"name", [](auto& t) { t.set_name("an\nother"); }},
  };
  for (const auto& one : spoils) {
    const auto spoil = [&](Folder& f) { one.second(f.outputs[0]); };
    expect_refused(Folder(), spoil, "CAS.C14", one.first);
    expect_refused(Folder(), spoil, "CAS.C14", "output_0.pb");
  }
}

CONSTRAINT(CAS_C14, a_small_type_holds_small_numbers) {
  const auto mask = [](Folder& f) {
    onnx::TensorProto tensor = empty_tensor("mask", onnx::TensorProto::BOOL, {3});
    for (const int value : {1, 0, 2}) tensor.add_int32_data(value);
    f.input(3, tensor);
  };
  expect_refused(Folder(), mask, "CAS.C14", "int32_data");
}

CONSTRAINT(CAS_C14, a_tensor_is_what_the_graph_declares) {
  const auto type = [](Folder& f) {
    f.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::DOUBLE);
  };
  const auto extent = [](Folder& f) {
    auto* shape = f.graph().mutable_output(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim(2)->set_dim_value(3);
  };
  expect_refused(Folder(), type, "CAS.C14", "Q (input_0.pb)");
  expect_refused(Folder(), extent, "CAS.C14", "Y (output_0.pb)");
}

CONSTRAINT(CAS_C14, the_tensors_fit_each_other) {
  const auto replace_y = [](Folder& f) {
    f.graph().clear_output();
    f.outputs.clear();
    f.output(0, zeros("Y", {1, 1, 2, 3}));
  };
  const auto past = [](Dims key, Dims value) {
    return [=](Folder& f) {
      f.input(4, zeros("past_key", key));
      f.input(5, zeros("past_value", value));
    };
  };
  expect_refused(Folder(), replace_y, "CAS.C14", "Y (output_0.pb)");
  expect_refused(Folder(), past({1, 1, 1, 3}, {1, 1, 1, 2}), "CAS.C14", "past_key (input_3.pb)");
  expect_refused(Folder(), past({1, 1, 1, 2}, {1, 1, 2, 2}), "CAS.C14", "past_value (input_4.pb)");
  expect_refused(Folder(), past({1, 2}, {1, 2}), "CAS.C14", "past_key (input_3.pb)");
  expect_refused(
      Folder(24),
      [](Folder& f) {
        f.input(6, integers("n", {3, 3}));
      },
      "CAS.C14", "nonpad_kv_seqlen");
  expect_refused(
      Folder(24), [](Folder& f) { f.input(6, zeros("n", {1})); }, "CAS.C14", "nonpad_kv_seqlen");
  expect_refused(
      Folder(),
      [](Folder& f) {
        f.input(3, integers("m", {1, 1, 0}));
      },
      "CAS.C14", "attn_mask");
}

}  // namespace
}  // namespace attest
