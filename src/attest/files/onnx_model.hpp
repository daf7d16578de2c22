#pragma once
/// The graph of an ONNX test folder whose node is Attention.

#include <string>
#include <vector>

#include "attest/conventions/onnx.hpp"
#include "attest/files/onnx_graph.hpp"

namespace attest {

/// What the graph says. The names of absent slots are empty.
struct OnnxModel {
  OnnxAttention node;                ///< its version and attributes; what the tensors say is still to be filled in
  std::vector<std::string> inputs;   ///< by slot: Q K V attn_mask past_key past_value nonpad_kv_seqlen
  std::vector<std::string> outputs;  ///< by slot: Y present_key present_value qk_matmul_output
};

/// The operator's names for its inputs and outputs.
inline const std::vector<std::string_view> attention_inputs{
    "Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"};
inline const std::vector<std::string_view> attention_outputs{"Y", "present_key", "present_value", "qk_matmul_output"};

/// Refuses a node that is not Attention in an opset from 23 to 27 (CAS.C12), and attributes that Attention does not
/// have or of another type (CAS.C13).
OnnxModel model_from(const OnnxGraph& graph);

}  // namespace attest
