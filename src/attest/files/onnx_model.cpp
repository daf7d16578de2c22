#include "attest/files/onnx_model.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include "attest/files/onnx_proto.hpp"
#include "attest/files/onnx_tensor.hpp"
#include "attest/scalar/error.hpp"

namespace attest {

namespace {

constexpr std::size_t required_inputs = 3;
constexpr std::size_t most_outputs = 4;

bool is_onnx_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

/// Attention-25 serves opsets 25 to 27; a later opset may bring another version.
int version_from(const onnx::ModelProto& model) {
  std::optional<std::int64_t> opset;
  for (const onnx::OperatorSetIdProto& imported : model.opset_import()) {
    if (!is_onnx_domain(imported.domain())) continue;
    require(!opset, "CAS.C12", "opset_import: ai.onnx is imported once");
    opset = imported.version();
  }
  require(opset.has_value(), "CAS.C12", "opset_import: ai.onnx is imported");
  require(*opset >= 23 && *opset <= 27, "CAS.C12", "opset_import: ai.onnx 23 to 27, got {}", *opset);
  return static_cast<int>(std::min<std::int64_t>(*opset, 25));
}

const onnx::NodeProto& only_node(const onnx::GraphProto& graph) {
  require(graph.node_size() == 1, "CAS.C12", "graph: one node, got {}", graph.node_size());
  const onnx::NodeProto& node = graph.node(0);
  require(node.op_type() == "Attention", "CAS.C12", "node: op_type Attention, got {:?}", node.op_type());
  require(is_onnx_domain(node.domain()), "CAS.C12", "node: domain ai.onnx, got {:?}", node.domain());
  require(graph.initializer_size() == 0 && graph.sparse_initializer_size() == 0, "CAS.C12",
          "graph: every tensor is an input, got initializers");
  return node;
}

std::vector<std::int64_t> extents_from(const onnx::TensorShapeProto& shape) {
  std::vector<std::int64_t> extents;
  for (const auto& dim : shape.dim()) extents.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  return extents;
}

OnnxValue value_from(const onnx::ValueInfoProto& declared) {
  OnnxValue value{.name = declared.name(), .data_type = 0, .extents = std::nullopt};
  if (declared.type().value_case() == onnx::TypeProto::VALUE_NOT_SET) return value;
  require(declared.type().has_tensor_type(), "CAS.C12", "{:?}: a tensor, declared as something else", declared.name());
  const auto& tensor = declared.type().tensor_type();
  value.data_type = tensor.elem_type();
  if (tensor.has_shape()) value.extents = extents_from(tensor.shape());
  return value;
}

/// The graph's inputs or outputs. Each is one of the node's, so that no file goes unread.
std::vector<OnnxValue> values_from(const google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>& declared,
                                   const std::vector<std::string>& slots) {
  std::set<std::string> seen;
  std::vector<OnnxValue> values;
  for (const onnx::ValueInfoProto& one : declared) {
    require(!one.name().empty() && std::ranges::find(slots, one.name()) != slots.end(), "CAS.C12",
            "graph: its inputs and outputs are the node's, got {:?}", one.name());
    require(seen.insert(one.name()).second, "CAS.C12", "graph: {:?} is declared once", one.name());
    values.push_back(value_from(one));
  }
  return values;
}

std::vector<std::string> input_slots(const onnx::NodeProto& node, int version) {
  std::vector<std::string> names(node.input().begin(), node.input().end());
  const std::size_t most = version == 23 ? 6 : 7;
  require(names.size() >= required_inputs && names.size() <= most, "CAS.C12",
          "node: {} to {} inputs in version {} of Attention, got {}", required_inputs, most, version, names.size());
  for (std::size_t slot = 0; slot < required_inputs; ++slot) {
    require(!names[slot].empty(), "CAS.C12", "node: Q, K and V are present, input {} is absent", slot);
  }
  names.resize(7);
  require(names[4].empty() == names[5].empty(), "CAS.C12", "node: past_key and past_value come together");
  return names;
}

std::vector<std::string> output_slots(const onnx::NodeProto& node) {
  std::vector<std::string> names(node.output().begin(), node.output().end());
  require(!names.empty() && names.size() <= most_outputs && !names[0].empty(), "CAS.C12",
          "node: Y and up to three further outputs, got {}", names.size());
  std::set<std::string> seen;
  for (const std::string& name : names) {
    require(name.empty() || seen.insert(name).second, "CAS.C12", "node: every output has its own name, got {:?} twice",
            name);
  }
  names.resize(most_outputs);
  return names;
}

void check_sources(const std::vector<std::string>& slots, const std::vector<OnnxValue>& graph_inputs) {
  for (const std::string& name : slots) {
    require(name.empty() || std::ranges::find(graph_inputs, name, &OnnxValue::name) != graph_inputs.end(), "CAS.C12",
            "node: its inputs are the graph's, got {:?}", name);
  }
}

std::int64_t integer_from(const onnx::AttributeProto& attribute) {
  require(attribute.type() == onnx::AttributeProto::INT, "CAS.C13", "{}: an integer (type INT), got type {}",
          attribute.name(), static_cast<int>(attribute.type()));
  return attribute.i();
}

float number_from(const onnx::AttributeProto& attribute) {
  require(attribute.type() == onnx::AttributeProto::FLOAT, "CAS.C13", "{}: a number (type FLOAT), got type {}",
          attribute.name(), static_cast<int>(attribute.type()));
  return attribute.f();
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

void set_attribute(OnnxAttention& node, const onnx::AttributeProto& attribute) {
  auto* integer = integer_named(node, attribute.name());
  auto* number = number_named(node, attribute.name());
  require(integer || number, "CAS.C13", "{:?}: not an attribute of Attention", attribute.name());
  require(!(integer && *integer) && !(number && *number), "CAS.C13", "{}: given once, got it twice", attribute.name());
  require(attribute.ref_attr_name().empty(), "CAS.C13", "{}: a value, got a reference to another attribute",
          attribute.name());
  if (integer) *integer = integer_from(attribute);
  if (number) *number = number_from(attribute);
}

}  // namespace

OnnxModel model_from(const onnx::ModelProto& model) {
  const onnx::NodeProto& node = only_node(model.graph());
  OnnxModel result;
  result.node.version = version_from(model);
  for (const onnx::AttributeProto& attribute : node.attribute()) set_attribute(result.node, attribute);
  result.inputs = input_slots(node, result.node.version);
  result.outputs = output_slots(node);
  result.graph_inputs = values_from(model.graph().input(), result.inputs);
  result.graph_outputs = values_from(model.graph().output(), result.outputs);
  check_sources(result.inputs, result.graph_inputs);
  return result;
}

OnnxModel read_onnx_model(const std::filesystem::path& file) {
  onnx::ModelProto model;
  parse_message(file, model);
  return model_from(model);
}

}  // namespace attest
