/// ONNX folders: what is refused (CAS.C12, CAS.C13, CAS.C14), and what the node's inputs and attributes mean (CNV.D2).

#include "attest/conventions/onnx.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>

#include "attest/definitions/mask.hpp"
#include "attest/files/onnx_folder.hpp"
#include "attest/files/onnx_proto.hpp"
#include "attest/scalar/error.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

using Dims = std::vector<std::int64_t>;

constexpr double infinity = std::numeric_limits<double>::infinity();

onnx::TensorProto empty_tensor(const std::string& name, int type, const Dims& dims) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (const std::int64_t extent : dims) tensor.add_dims(extent);
  return tensor;
}

/// float32 numbers in raw_data, as the node tests have them.
onnx::TensorProto floats(const std::string& name, const Dims& dims, const std::vector<float>& values) {
  onnx::TensorProto tensor = empty_tensor(name, onnx::TensorProto::FLOAT, dims);
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor;
}

onnx::TensorProto zeros(const std::string& name, const Dims& dims) {
  std::size_t count = 1;
  for (const std::int64_t extent : dims) count *= static_cast<std::size_t>(extent);
  return floats(name, dims, std::vector<float>(count));
}

onnx::TensorProto booleans(const std::string& name, const Dims& dims, const std::string& bytes) {
  onnx::TensorProto tensor = empty_tensor(name, onnx::TensorProto::BOOL, dims);
  tensor.set_raw_data(bytes);
  return tensor;
}

onnx::TensorProto integers(const std::string& name, const std::vector<std::int64_t>& values) {
  onnx::TensorProto tensor = empty_tensor(name, onnx::TensorProto::INT64, {static_cast<std::int64_t>(values.size())});
  for (const std::int64_t value : values) tensor.add_int64_data(value);
  return tensor;
}

onnx::ValueInfoProto declaration(const onnx::TensorProto& tensor) {
  onnx::ValueInfoProto declared;
  declared.set_name(tensor.name());
  auto* type = declared.mutable_type()->mutable_tensor_type();
  type->set_elem_type(tensor.data_type());
  for (const std::int64_t extent : tensor.dims()) type->mutable_shape()->add_dim()->set_dim_value(extent);
  return declared;
}

/// A directory that exists as long as the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "attest-onnx-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
    std::filesystem::create_directory(path_ / "test_data_set_0");
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& file, const std::string& bytes) const {
    std::ofstream(path_ / file, std::ios::binary) << bytes;
  }

 private:
  std::filesystem::path path_;
};

/// A folder: two queries and three keys of width 2 in one head, until a test adds to it or spoils it.
struct Folder {
  onnx::ModelProto model;
  std::vector<onnx::TensorProto> inputs;
  std::vector<onnx::TensorProto> outputs;
  std::map<std::string, std::string> spoiled;  ///< bytes written in place of a file's own

  explicit Folder(std::int64_t opset = 23, const Dims& q = {1, 1, 2, 2}, const Dims& k = {1, 1, 3, 2}) {
    model.add_opset_import()->set_version(opset);
    node().set_op_type("Attention");
    input(0, zeros("Q", q));
    input(1, zeros("K", k));
    input(2, zeros("V", k));
    output(0, zeros("Y", q));
  }

  onnx::GraphProto& graph() { return *model.mutable_graph(); }
  onnx::NodeProto& node() { return graph().node_size() ? *graph().mutable_node(0) : *graph().add_node(); }

  void input(int slot, const onnx::TensorProto& tensor) {
    while (node().input_size() <= slot) node().add_input("");
    node().set_input(slot, tensor.name());
    *graph().add_input() = declaration(tensor);
    inputs.push_back(tensor);
  }

  void output(int slot, const onnx::TensorProto& tensor) {
    while (node().output_size() <= slot) node().add_output("");
    node().set_output(slot, tensor.name());
    *graph().add_output() = declaration(tensor);
    outputs.push_back(tensor);
  }

  onnx::AttributeProto& attribute(const std::string& name, onnx::AttributeProto::AttributeType type) {
    onnx::AttributeProto& added = *node().add_attribute();
    added.set_name(name);
    added.set_type(type);
    return added;
  }
  void integer(const std::string& name, std::int64_t value) { attribute(name, onnx::AttributeProto::INT).set_i(value); }
  void number(const std::string& name, float value) { attribute(name, onnx::AttributeProto::FLOAT).set_f(value); }

  Case read(const std::vector<Setting>& overrides = {}) const {
    const TemporaryFolder folder;
    folder.write("model.onnx", model.SerializeAsString());
    for (std::size_t n = 0; n < inputs.size(); ++n) {
      folder.write(fmt::format("test_data_set_0/input_{}.pb", n), inputs[n].SerializeAsString());
    }
    for (std::size_t n = 0; n < outputs.size(); ++n) {
      folder.write(fmt::format("test_data_set_0/output_{}.pb", n), outputs[n].SerializeAsString());
    }
    for (const auto& [file, bytes] : spoiled) folder.write(file, bytes);
    return read_onnx_folder(folder.path(), overrides);
  }
};

/// What a refusal says; empty if nothing is refused. One line, whatever the file holds.
std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const Refused& refused) {
    const std::string text = refused.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }
  return "";
}

void expect_refusal(const std::string& text, const std::string& id, const std::string& word) {
  EXPECT_EQ(text.substr(0, id.size() + 2), id + ": ") << text;
  EXPECT_NE(text.find(word), std::string::npos) << text << " names " << word;
}

/// Spoils a folder and expects its refusal.
void expect_refused(Folder folder, const std::function<void(Folder&)>& spoil, const std::string& id,
                    const std::string& word) {
  EXPECT_NO_THROW(folder.read());
  spoil(folder);
  expect_refusal(refusal([&] { folder.read(); }), id, word);
}

void expect_node_refused(const OnnxAttention& node, const std::string& id, const std::string& word) {
  expect_refusal(refusal([&] { onnx_call(node); }), id, word);
}

// CAS.C12: the model

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
  for (const auto& [word, spoil] : spoils) {
    expect_refused(
        Folder(), [&](Folder& f) { spoil(f.outputs[0]); }, "CAS.C14", word);
    expect_refused(
        Folder(), [&](Folder& f) { spoil(f.outputs[0]); }, "CAS.C14", "output_0.pb");
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
  expect_refusal(refusal([&] { folder.read({{"onnx_qk_modes", "old"}}); }), "CAS.C7", "onnx_qk_modes");
}

TEST(OnnxCall, other_overrides_win_over_the_model) {
  EXPECT_TRUE(Folder().read({{"causal", "true"}}).problem.call.causal);
  expect_refusal(refusal([] { Folder().read({{"layout", "BSD"}}); }), "CAS.C7", "layout");
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
  const std::string text = refusal([] { with_short_mask(23, "\1\1").read(); });
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
  expect_refusal(refusal([&] { folder.read(); }), "CAS.C14", "attn_mask (input_3.pb)");
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
