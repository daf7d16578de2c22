#pragma once
/// Chapter 20 (CNV): what a node of ONNX's operator Attention (versions 23, 24 and 25) means, as a call record.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attest/definitions/call.hpp"

namespace attest {

/// How qk_matmul_output_mode is numbered. ONNX 1.22 exchanged 1 and 2 and left the operator's version as it was, so the
/// model does not tell.
enum class QkModes { current, before_1_22 };

/// The node as its file states it; an attribute that is not there is absent.
struct OnnxAttention {
  int version = 23;           ///< of the operator: 23, 24 or 25
  int rank = 4;               ///< of Q, K, V and Y: 3 or 4
  Format type = Format::f32;  ///< T1, that of Q and Y
  bool past = false;          ///< whether past_key and past_value are there
  bool nonpad = false;        ///< whether nonpad_kv_seqlen is there
  std::optional<std::int64_t> is_causal = std::nullopt;
  std::optional<float> scale = std::nullopt;
  std::optional<std::int64_t> q_num_heads = std::nullopt;
  std::optional<std::int64_t> kv_num_heads = std::nullopt;
  std::optional<float> softcap = std::nullopt;
  std::optional<std::int64_t> qk_matmul_output_mode = std::nullopt;
  std::optional<std::int64_t> softmax_precision = std::nullopt;
  std::optional<std::int64_t> left_window_size = std::nullopt;
  std::optional<std::int64_t> right_window_size = std::nullopt;
};

/// CNV.D2  onnx_call(node): the call record that the node stands for. Refuses inputs that its version does not have or
/// that exclude each other (CAS.C12), and attributes without a meaning on which the operator's text and both of its
/// bodies agree (CAS.C13).
Call onnx_call(const OnnxAttention& node, QkModes modes = QkModes::current);

/// The output of a case that qk_matmul_output is: "weights" in mode 3, otherwise "scores".
std::string qk_output_name(const OnnxAttention& node);

/// The floating type of a TensorProto.DataType: float32 (1), float16 (10), float64 (11), bfloat16 (16); nullopt for
/// others.
std::optional<Format> onnx_floating_type(std::int64_t data_type);

/// "float32", as ONNX spells it.
std::string_view onnx_name_of(Format format);

/// "current" or "before-1.22". Refuses other text: CAS.C7.
QkModes qk_modes_from(const std::string& text);

}  // namespace attest
