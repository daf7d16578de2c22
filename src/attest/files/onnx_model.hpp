#pragma once
/// The model of an ONNX test folder: a graph of one Attention node.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "attest/conventions/onnx.hpp"

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

/// What the model says. The names of absent slots are empty or missing.
struct OnnxModel {
  OnnxAttention node;                    ///< its version and attributes; what the tensors say is still to be filled in
  std::vector<std::string> inputs;       ///< by slot: Q K V attn_mask past_key past_value nonpad_kv_seqlen
  std::vector<std::string> outputs;      ///< by slot: Y present_key present_value qk_matmul_output
  std::vector<OnnxValue> graph_inputs;   ///< in the order of the files input_K.pb
  std::vector<OnnxValue> graph_outputs;  ///< in the order of the files output_K.pb
};

/// Refuses a graph that is not one Attention node of ai.onnx, opset 23 to 27, between the graph's inputs and outputs
/// (CAS.C12), and attributes that Attention does not have or of another type (CAS.C13).
OnnxModel model_from(const onnx::ModelProto& model);

/// The model in a file. Refuses one that does not parse: CAS.C14.
OnnxModel read_onnx_model(const std::filesystem::path& file);

}  // namespace attest
