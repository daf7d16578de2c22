#pragma once
/// Chapter 20 (CNV): what the nodes Softmax, RMSNormalization and RotaryEmbedding of ONNX mean, as operations on rows.

#include <cstdint>
#include <optional>
#include <vector>

#include "attest/conventions/conventions.hpp"
#include "attest/definitions/row_operation.hpp"

namespace attest {

/// The nodes as their files state them; an attribute that is not there is absent.
struct OnnxSoftmax {
  int version = 13;  ///< of the operator: 1, 11 or 13
  std::optional<std::int64_t> axis = std::nullopt;
};

struct OnnxRmsNormalization {
  std::optional<std::int64_t> axis = std::nullopt;
  std::optional<float> epsilon = std::nullopt;
  std::optional<std::int64_t> stash_type = std::nullopt;
};

struct OnnxRotaryEmbedding {
  std::optional<std::int64_t> interleaved = std::nullopt;
  std::optional<std::int64_t> num_heads = std::nullopt;
  std::optional<std::int64_t> rotary_embedding_dim = std::nullopt;
};

/// CNV.D5  onnx_softmax(node, x): softmax over the axis (version 13), or over all axes from it on (versions 1 and 11).
/// Refuses an axis that the version does not admit: CAS.C13.
RowOperation onnx_softmax(const OnnxSoftmax& node, const Tensor<double>& x);

/// CNV.D6  onnx_rms_normalization(node, x, scale): RMS norm over all axes from `axis` on, the scale broadcast to x.
/// Refuses attributes without a meaning (CAS.C13) and a scale that does not broadcast (CAS.C14).
RowOperation onnx_rms_normalization(const OnnxRmsNormalization& node, const Tensor<double>& x,
                                    const Tensor<double>& scale);

/// The tensors of a rotary embedding.
struct OnnxRotaryInputs {
  const Tensor<double>& x;                     ///< (B, N, S, H) or (B, S, N*H)
  const Tensor<double>& cos_cache;             ///< (P, r/2) with position_ids, (B, S, r/2) without
  const Tensor<double>& sin_cache;             ///< the same shape
  std::optional<Tensor<double>> position_ids;  ///< (B, S)
};

/// CNV.D7  onnx_rotary_embedding(node, inputs): the first r channels of every head of every token are rotated by the
/// row of the caches that belongs to the token. Refuses attributes without a meaning (CAS.C13) and tensors that do not
/// fit each other (CAS.C14).
RowOperation onnx_rotary_embedding(const OnnxRotaryEmbedding& node, const OnnxRotaryInputs& inputs);

/// A node's record: the operator, its version, every attribute with the value that it has, and the types in which the
/// operator is to be computed, which have no effect on the exact result. `type` is that of the operand.
std::vector<Setting> describe(const OnnxSoftmax& node, Format type);
std::vector<Setting> describe(const OnnxRmsNormalization& node, Format type);
std::vector<Setting> describe(const OnnxRotaryEmbedding& node, Format type);

}  // namespace attest
