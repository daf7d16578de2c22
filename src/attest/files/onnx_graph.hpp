#pragma once
/// The model of an ONNX test folder: a graph of one node, whatever its operator.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace onnx {
class ModelProto;
}

namespace attest {

/// A graph input or output as the model declares it.
struct OnnxValue {
  std::string name;
  int data_type = 0;                                 ///< a TensorProto.DataType; 0: not declared
  std::optional<std::vector<std::int64_t>> extents;  ///< nullopt: not declared; -1: an extent that is not declared
};

/// An attribute of the node. It holds the number of its type; of another type, neither.
struct OnnxAttribute {
  std::string name;
  int type = 0;  ///< an AttributeProto.AttributeType
  std::optional<std::int64_t> integer;
  std::optional<float> number;
};

/// What the model says. The names of absent slots are empty or missing.
struct OnnxGraph {
  std::string op_type;                    ///< of the domain ai.onnx
  std::int64_t opset;                     ///< of the domain ai.onnx, at least 1
  std::vector<OnnxAttribute> attributes;  ///< each once
  std::vector<std::string> inputs;        ///< of the node, by slot
  std::vector<std::string> outputs;       ///< of the node, by slot
  std::vector<OnnxValue> graph_inputs;    ///< in the order of the files input_K.pb
  std::vector<OnnxValue> graph_outputs;   ///< in the order of the files output_K.pb
};

/// Refuses a graph that is not one node of ai.onnx between the graph's inputs and outputs (CAS.C12), an attribute that
/// is given twice or by reference (CAS.C13).
OnnxGraph graph_from(const onnx::ModelProto& model);

/// The graph in a file. Refuses one that does not parse: CAS.C14.
OnnxGraph read_onnx_graph(const std::filesystem::path& file);

/// Refuses another operator, or an opset outside the range in which the operator is known: CAS.C12.
void require_operator(const OnnxGraph& graph, std::string_view op_type, std::int64_t first_opset);

/// Refuses more inputs or outputs than the operator has, and an absent one among the first `required`: CAS.C12. Returns
/// the node's names with an empty one for every slot that is left out at the end.
std::vector<std::string> input_slots(const OnnxGraph& graph, const std::vector<std::string_view>& formal,
                                     std::size_t required);
std::vector<std::string> output_slots(const OnnxGraph& graph, const std::vector<std::string_view>& formal,
                                      std::size_t required);

/// The value of an attribute. Refuses another type: CAS.C13.
std::int64_t integer_from(const OnnxAttribute& attribute);
float number_from(const OnnxAttribute& attribute);

}  // namespace attest
