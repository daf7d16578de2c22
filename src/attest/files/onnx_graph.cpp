#include "attest/files/onnx_graph.hpp"

#include <algorithm>
#include <set>

#include "attest/files/onnx_proto.hpp"
#include "attest/files/onnx_tensor.hpp"
#include "attest/scalar/error.hpp"

namespace attest {

namespace {

/// A later opset may bring other versions of the operators.
constexpr std::int64_t last_opset = 27;

bool is_onnx_domain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

std::int64_t opset_from(const onnx::ModelProto& model) {
  std::optional<std::int64_t> opset;
  for (const onnx::OperatorSetIdProto& imported : model.opset_import()) {
    if (!is_onnx_domain(imported.domain())) continue;
    require(!opset, "CAS.C12", "opset_import: ai.onnx is imported once");
    opset = imported.version();
  }
  require(opset.has_value(), "CAS.C12", "opset_import: ai.onnx is imported");
  return *opset;
}

const onnx::NodeProto& only_node(const onnx::GraphProto& graph) {
  require(graph.node_size() == 1, "CAS.C12", "graph: one node, got {}", graph.node_size());
  const onnx::NodeProto& node = graph.node(0);
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

void check_sources(const OnnxGraph& graph) {
  for (const std::string& name : graph.inputs) {
    const bool shown = std::ranges::find(graph.graph_inputs, name, &OnnxValue::name) != graph.graph_inputs.end();
    require(name.empty() || shown, "CAS.C12", "node: its inputs are the graph's, got {:?}", name);
  }
  std::set<std::string> seen;
  for (const std::string& name : graph.outputs) {
    require(name.empty() || seen.insert(name).second, "CAS.C12", "node: every output has its own name, got {:?} twice",
            name);
  }
}

OnnxAttribute attribute_from(const onnx::AttributeProto& attribute) {
  require(attribute.ref_attr_name().empty(), "CAS.C13", "{}: a value, got a reference to another attribute",
          attribute.name());
  OnnxAttribute result{.name = attribute.name(), .type = attribute.type(), .integer = {}, .number = {}};
  if (attribute.type() == onnx::AttributeProto::INT) result.integer = attribute.i();
  if (attribute.type() == onnx::AttributeProto::FLOAT) result.number = attribute.f();
  return result;
}

std::vector<OnnxAttribute> attributes_from(const onnx::NodeProto& node) {
  std::set<std::string> seen;
  std::vector<OnnxAttribute> attributes;
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    require(seen.insert(attribute.name()).second, "CAS.C13", "{}: given once, got it twice", attribute.name());
    attributes.push_back(attribute_from(attribute));
  }
  return attributes;
}

std::vector<std::string> slots(std::vector<std::string> names, std::string_view kind, const std::string& op_type,
                               const std::vector<std::string_view>& formal, std::size_t required) {
  require(names.size() >= required && names.size() <= formal.size(), "CAS.C12", "node: {} to {} {} of {}, got {}",
          required, formal.size(), kind, op_type, names.size());
  for (std::size_t slot = 0; slot < required; ++slot) {
    require(!names[slot].empty(), "CAS.C12", "node: {} of {} is absent", formal[slot], op_type);
  }
  names.resize(formal.size());
  return names;
}

}  // namespace

OnnxGraph graph_from(const onnx::ModelProto& model) {
  const onnx::NodeProto& node = only_node(model.graph());
  OnnxGraph graph{.op_type = node.op_type(),
                  .opset = opset_from(model),
                  .attributes = attributes_from(node),
                  .inputs = {node.input().begin(), node.input().end()},
                  .outputs = {node.output().begin(), node.output().end()},
                  .graph_inputs = {},
                  .graph_outputs = {}};
  graph.graph_inputs = values_from(model.graph().input(), graph.inputs);
  graph.graph_outputs = values_from(model.graph().output(), graph.outputs);
  check_sources(graph);
  return graph;
}

OnnxGraph read_onnx_graph(const std::filesystem::path& file) {
  onnx::ModelProto model;
  parse_message(file, model);
  return graph_from(model);
}

void require_operator(const OnnxGraph& graph, std::string_view op_type, std::int64_t first_opset) {
  require(graph.op_type == op_type, "CAS.C12", "node: op_type {}, got {:?}", op_type, graph.op_type);
  require(graph.opset >= first_opset && graph.opset <= last_opset, "CAS.C12",
          "opset_import: ai.onnx {} to {} for {}, got {}", first_opset, last_opset, op_type, graph.opset);
}

std::vector<std::string> input_slots(const OnnxGraph& graph, const std::vector<std::string_view>& formal,
                                     std::size_t required) {
  return slots(graph.inputs, "inputs", graph.op_type, formal, required);
}

std::vector<std::string> output_slots(const OnnxGraph& graph, const std::vector<std::string_view>& formal,
                                      std::size_t required) {
  return slots(graph.outputs, "outputs", graph.op_type, formal, required);
}

std::int64_t integer_from(const OnnxAttribute& attribute) {
  require(attribute.integer.has_value(), "CAS.C13", "{}: an integer (type INT), got type {}", attribute.name,
          attribute.type);
  return *attribute.integer;
}

float number_from(const OnnxAttribute& attribute) {
  require(attribute.number.has_value(), "CAS.C13", "{}: a number (type FLOAT), got type {}", attribute.name,
          attribute.type);
  return *attribute.number;
}

}  // namespace attest
