#include "attest/files/onnx_node_folder.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "attest/conventions/onnx_nodes.hpp"
#include "attest/files/onnx_slots.hpp"

namespace attest {

namespace {

using Names = std::vector<std::string_view>;
using Types = std::vector<Dtype>;

/// An attribute's name and where its value goes.
struct IntegerAttribute {
  std::string_view name;
  std::optional<std::int64_t>* value;
};
struct NumberAttribute {
  std::string_view name;
  std::optional<float>* value;
};

/// Refuses attributes that the operator does not have: CAS.C13.
void read_attributes(const OnnxGraph& graph, const std::vector<IntegerAttribute>& integers,
                     const std::vector<NumberAttribute>& numbers = {}) {
  for (const OnnxAttribute& attribute : graph.attributes) {
    const auto integer = std::ranges::find(integers, attribute.name, &IntegerAttribute::name);
    const auto number = std::ranges::find(numbers, attribute.name, &NumberAttribute::name);
    require(integer != integers.end() || number != numbers.end(), "CAS.C13", "{:?}: not an attribute of {}",
            attribute.name, graph.op_type);
    if (integer != integers.end()) *integer->value = integer_from(attribute);
    if (number != numbers.end()) *number->value = number_from(attribute);
  }
}

Slots read_inputs(const std::filesystem::path& folder, const OnnxGraph& graph, const Names& formal,
                  std::size_t required) {
  return read_slots(folder, "input", graph.graph_inputs, input_slots(graph, formal, required), formal);
}

/// Refuses an element type that the operator does not have: CAS.C14.
Format floating(const Slot& slot, const Types& types) {
  const Dtype type = slot.array.dtype;
  std::vector<std::string_view> names;
  for (const Dtype one : types) names.push_back(name_of(one));
  require(std::ranges::find(types, type) != types.end(), "CAS.C14", "{}: element type {}, got {}", slot.label,
          fmt::join(names, ", "), name_of(type));
  return *format_of(type);
}

/// The shapes of the tensors that are there.
std::vector<std::pair<std::string, Shape>> shapes_of(const Slots& in, const Names& formal) {
  std::vector<std::pair<std::string, Shape>> shapes;
  for (std::size_t slot = 0; slot < in.size(); ++slot) {
    if (in[slot]) shapes.emplace_back(formal[slot], shape_of(*in[slot]));
  }
  return shapes;
}

/// The one output, if the graph shows it: of the operand's shape.
std::map<OutputName, Output> read_output(const std::filesystem::path& folder, const OnnxGraph& graph,
                                         std::string_view formal, const Slot& operand, Dtype type) {
  const Slots out = read_slots(folder, "output", graph.graph_outputs, output_slots(graph, {formal}, 1), {formal});
  if (!out[0]) return {};
  require_type(*out[0], type);
  require_shape(*out[0], shape_of(operand));
  return {{"out", Output{*format_of(type), out[0]->array.values}}};
}

/// Version 11 came with opset 11, version 13 with opset 13.
int softmax_version(const OnnxGraph& graph) {
  require_operator(graph, "Softmax", 1);
  return graph.opset < 11 ? 1 : graph.opset < 13 ? 11 : 13;
}

NodeCase softmax_case(const std::filesystem::path& folder, const OnnxGraph& graph) {
  OnnxSoftmax node{.version = softmax_version(graph)};
  read_attributes(graph, {{"axis", &node.axis}});
  const Names formal{"input"};
  const Slots in = read_inputs(folder, graph, formal, 1);
  Types types{Dtype::f16, Dtype::f32, Dtype::f64};
  if (node.version >= 13) types.push_back(Dtype::bf16);
  const Format type = floating(*in[0], types);
  return {.record = describe(node, type),
          .inputs = shapes_of(in, formal),
          .operation = onnx_softmax(node, in[0]->array.values),
          .outputs = read_output(folder, graph, "output", *in[0], in[0]->array.dtype)};
}

/// The output has the type of the scale, which need not be that of X.
NodeCase rms_normalization_case(const std::filesystem::path& folder, const OnnxGraph& graph) {
  require_operator(graph, "RMSNormalization", 23);
  OnnxRmsNormalization node;
  read_attributes(graph, {{"axis", &node.axis}, {"stash_type", &node.stash_type}}, {{"epsilon", &node.epsilon}});
  const Names formal{"X", "scale"};
  const Slots in = read_inputs(folder, graph, formal, 2);
  const Types types{Dtype::f16, Dtype::f32, Dtype::f64, Dtype::bf16};
  const Format type = floating(*in[0], types);
  floating(*in[1], types);
  return {.record = describe(node, type),
          .inputs = shapes_of(in, formal),
          .operation = onnx_rms_normalization(node, in[0]->array.values, in[1]->array.values),
          .outputs = read_output(folder, graph, "Y", *in[0], in[1]->array.dtype)};
}

NodeCase rotary_embedding_case(const std::filesystem::path& folder, const OnnxGraph& graph) {
  require_operator(graph, "RotaryEmbedding", 23);
  OnnxRotaryEmbedding node;
  read_attributes(graph, {{"interleaved", &node.interleaved},
                          {"num_heads", &node.num_heads},
                          {"rotary_embedding_dim", &node.rotary_embedding_dim}});
  const Names formal{"X", "cos_cache", "sin_cache", "position_ids"};
  const Slots in = read_inputs(folder, graph, formal, 3);
  const Format type = floating(*in[0], {Dtype::f32, Dtype::f16, Dtype::bf16});
  for (const std::size_t cache : {1, 2}) require_type(*in[cache], in[0]->array.dtype);
  if (in[3]) require_type(*in[3], Dtype::i64);
  const OnnxRotaryInputs inputs{in[0]->array.values, in[1]->array.values, in[2]->array.values,
                                in[3] ? std::optional(in[3]->array.values) : std::nullopt};
  return {.record = describe(node, type),
          .inputs = shapes_of(in, formal),
          .operation = onnx_rotary_embedding(node, inputs),
          .outputs = read_output(folder, graph, "Y", *in[0], in[0]->array.dtype)};
}

using Reader = NodeCase (*)(const std::filesystem::path&, const OnnxGraph&);
constexpr std::array<std::pair<std::string_view, Reader>, 3> readers{{{"Softmax", softmax_case},
                                                                      {"RMSNormalization", rms_normalization_case},
                                                                      {"RotaryEmbedding", rotary_embedding_case}}};

}  // namespace

NodeCase node_case(const std::filesystem::path& folder, const OnnxGraph& graph, const std::vector<Setting>& overrides) {
  const auto reader = std::ranges::find(readers, graph.op_type, &std::pair<std::string_view, Reader>::first);
  require(reader != readers.end(), "CAS.C12",
          "node: op_type Attention, Softmax, RMSNormalization or RotaryEmbedding, got {:?}", graph.op_type);
  require(overrides.empty(), "CAS.C5", "{}: no key of a node of {}, which has no call record",
          overrides.empty() ? "" : overrides.front().key, graph.op_type);
  return reader->second(folder, graph);
}

}  // namespace attest
