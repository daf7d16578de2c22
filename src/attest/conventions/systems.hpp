#pragma once
/// Chapter 20 (CNV): calls in other systems' own words, as call records. A struct has the arguments of one system under
/// the names they have there; what is not given has that system's default. What a system means by its tensors is said
/// in the specification; here are the arguments that are no tensors. Refuses what the system has no meaning for:
/// CNV.C1.

#include <cstdint>
#include <optional>

#include "attest/definitions/call.hpp"
#include "attest/tensor/tensor.hpp"

namespace attest {

/// The core of PyTorch's nn.MultiheadAttention.
struct TorchMultihead {
  double dropout = 0;
  bool training = false;  ///< a new module is in training; a new struct is not
};

/// CNV.D8  torch_multihead_call(arguments): attention inside torch.nn.MultiheadAttention. Its `is_causal` is a hint
/// about the mask that comes with it, and no field.
Call torch_multihead_call(const TorchMultihead& arguments);

/// FlashAttention: flash_attn_func and its relatives.
struct FlashAttention {
  int version = 2;  ///< 2 for 2.1 and later; 3; 4
  bool causal = false;
  std::int64_t window_left = -1;  ///< window_size[0]
  std::int64_t window_right = -1;
  std::optional<double> softmax_scale = std::nullopt;
  double softcap = 0;
  double dropout_p = 0;
};

/// CNV.D9  flash_call(arguments): bottom right, windows without the query's own key, by version +inf or -inf as the
/// log-sum-exp of an empty row.
Call flash_call(const FlashAttention& arguments);

/// ONNX Runtime's operators Attention and MultiHeadAttention of the domain com.microsoft.
struct RuntimeMultihead {
  std::int64_t unidirectional = 0;
  float scale = 0;  ///< 0: 1/sqrt(d)
};

/// CNV.D10  runtime_multihead_call(attributes): query 0 stands after the cached keys.
Call runtime_multihead_call(const RuntimeMultihead& attributes);

/// ONNX Runtime's operator GroupQueryAttention.
struct RuntimeGroupQuery {
  std::int64_t causal = 1;
  std::int64_t local_window_size = -1;
  float scale = 0;  ///< 0: 1/sqrt(d)
  float softcap = 0;
};

/// CNV.D11  runtime_group_query_call(attributes): causal by default; a window counts the query's own key.
Call runtime_group_query_call(const RuntimeGroupQuery& attributes);

/// How many queries and how many keys in the cache are real, for each batch entry.
struct GroupQueryLengths {
  Vector<std::int64_t> queries, keys;
};

/// CNV.D11  group_query_lengths(n, S)_b = (min(S, n_b + 1), n_b + 1), of the input seqlens_k and S places of queries.
GroupQueryLengths group_query_lengths(const Vector<std::int64_t>& seqlens_k, std::int64_t queries);

/// jax.nn.dot_product_attention.
struct JaxWindow {
  std::int64_t left, right;
};
struct JaxAttention {
  std::optional<double> scale = std::nullopt;
  bool is_causal = false;
  std::optional<JaxWindow> local_window_size = std::nullopt;  ///< one number is a window of that to either side
};

/// CNV.D12  jax_call(arguments): top left, whatever the lengths.
Call jax_call(const JaxAttention& arguments);

/// An attention function of Hugging Face's Transformers, with the masks of its masking utilities.
struct Transformers {
  bool is_causal = true;
  std::optional<std::int64_t> sliding_window = std::nullopt;
  std::optional<double> scaling = std::nullopt;
  std::optional<double> softcap = std::nullopt;
  double dropout = 0;
};

/// CNV.D13  transformers_call(arguments): a causal window counts the query's own key, one to both sides does not.
Call transformers_call(const Transformers& arguments);

/// The core of TorchLean's attention layer.
struct TorchLean {
  std::optional<double> probability = std::nullopt;
  bool training = false;
};

/// CNV.D14  torchlean_call(arguments): dropout on the weights, in training only.
Call torchlean_call(const TorchLean& arguments);

/// ggml_flash_attn_ext. Its mask and `max_bias` become a bias: ggml.hpp.
struct GgmlFlash {
  std::optional<float> scale = std::nullopt;  ///< required: ggml has no default
  float max_bias = 0;
  float logit_softcap = 0;  ///< 0 is none
};

/// CNV.D17  ggml_call(arguments): scale and softcap; everything else of a call of ggml is in its tensors.
Call ggml_call(const GgmlFlash& arguments);

}  // namespace attest
