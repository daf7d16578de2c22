#include "attest/files/onnx_model.hpp"

#include <algorithm>
#include <string_view>

#include "attest/scalar/error.hpp"

namespace attest {

namespace {

constexpr std::size_t required_inputs = 3;

/// Attention-25 serves opsets 25 to 27.
int version_from(const OnnxGraph& graph) {
  require_operator(graph, "Attention", 23);
  return static_cast<int>(std::min<std::int64_t>(graph.opset, 25));
}

/// nonpad_kv_seqlen came with version 24.
std::vector<std::string> inputs_of(const OnnxGraph& graph, int version) {
  std::vector<std::string_view> formal = attention_inputs;
  if (version == 23) formal.pop_back();
  std::vector<std::string> names = input_slots(graph, formal, required_inputs);
  names.resize(attention_inputs.size());
  require(names[4].empty() == names[5].empty(), "CAS.C12", "node: past_key and past_value come together");
  return names;
}

std::optional<std::int64_t>* integer_named(OnnxAttention& node, std::string_view name) {
  if (name == "is_causal") return &node.is_causal;
  if (name == "q_num_heads") return &node.q_num_heads;
  if (name == "kv_num_heads") return &node.kv_num_heads;
  if (name == "qk_matmul_output_mode") return &node.qk_matmul_output_mode;
  if (name == "softmax_precision") return &node.softmax_precision;
  if (name == "left_window_size") return &node.left_window_size;
  if (name == "right_window_size") return &node.right_window_size;
  return nullptr;
}

std::optional<float>* number_named(OnnxAttention& node, std::string_view name) {
  if (name == "scale") return &node.scale;
  if (name == "softcap") return &node.softcap;
  return nullptr;
}

void set_attribute(OnnxAttention& node, const OnnxAttribute& attribute) {
  auto* integer = integer_named(node, attribute.name);
  auto* number = number_named(node, attribute.name);
  require(integer || number, "CAS.C13", "{:?}: not an attribute of Attention", attribute.name);
  if (integer) *integer = integer_from(attribute);
  if (number) *number = number_from(attribute);
}

}  // namespace

OnnxModel model_from(const OnnxGraph& graph) {
  OnnxModel result;
  result.node.version = version_from(graph);
  for (const OnnxAttribute& attribute : graph.attributes) set_attribute(result.node, attribute);
  result.inputs = inputs_of(graph, result.node.version);
  result.outputs = output_slots(graph, attention_outputs, 1);
  return result;
}

}  // namespace attest
