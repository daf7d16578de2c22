#include "attest/conventions/systems.hpp"

#include <algorithm>
#include <cmath>

#include "attest/conventions/conventions.hpp"
#include "attest/conventions/ggml.hpp"
#include "attest/scalar/error.hpp"

namespace attest {

namespace {

/// -1 is no bound.
std::optional<long> window_from(std::string_view name, std::int64_t given) {
  require(given >= -1, "CNV.C1", "{}: at least 0, or -1 for none, got {}", name, given);
  return given == -1 ? std::nullopt : std::optional<long>(given);
}

/// 0 is no softcap.
std::optional<double> softcap_from(double given) {
  require(given >= 0 && std::isfinite(given), "CNV.C1", "softcap: a finite number of at least 0, got {}", given);
  return given == 0 ? std::nullopt : std::optional<double>(given);
}

/// 0 is the default of 1/sqrt(d).
std::optional<double> scale_from(float given) {
  require(std::isfinite(given), "CNV.C1", "scale: a finite number, got {}", given);
  return given == 0 ? std::nullopt : std::optional<double>(given);
}

/// 0 is no dropout, and so is any probability outside training.
std::optional<double> dropout_from(double probability, bool training) {
  require(probability >= 0 && probability <= 1, "CNV.C1", "dropout: a probability in [0, 1], got {}", probability);
  return training && probability > 0 ? std::optional<double>(probability) : std::nullopt;
}

bool flag_from(std::string_view name, std::int64_t given) {
  require(given == 0 || given == 1, "CNV.C1", "{}: 0 or 1, got {}", name, given);
  return given == 1;
}

}  // namespace

Call torch_multihead_call(const TorchMultihead& arguments) {
  Call call = convention("pytorch.mha");
  call.dropout = dropout_from(arguments.dropout, arguments.training);
  return call;
}

Call flash_call(const FlashAttention& arguments) {
  require(arguments.version >= 2 && arguments.version <= 4, "CNV.C1", "version: 2, 3 or 4, got {}", arguments.version);
  Call call = convention(arguments.version == 2 ? "flash-2" : "flash-3");
  call.causal = arguments.causal;
  call.window_left = window_from("window_size[0]", arguments.window_left);
  call.window_right = window_from("window_size[1]", arguments.window_right);
  call.scale = arguments.softmax_scale;
  call.softcap = softcap_from(arguments.softcap);
  call.dropout = dropout_from(arguments.dropout_p, true);
  return call;
}

Call runtime_multihead_call(const RuntimeMultihead& attributes) {
  Call call = convention("onnxruntime.mha");
  call.causal = flag_from("unidirectional", attributes.unidirectional);
  call.scale = scale_from(attributes.scale);
  return call;
}

Call runtime_group_query_call(const RuntimeGroupQuery& attributes) {
  Call call = convention("onnxruntime.gqa");
  call.causal = flag_from("causal", attributes.causal);
  call.window_left = window_from("local_window_size", attributes.local_window_size);
  require(call.window_left.value_or(1) > 0, "CNV.C1", "local_window_size: at least 1, or -1 for none, got 0");
  require(call.causal || !call.window_left, "CNV.C1", "local_window_size: -1 where causal is 0, got {}",
          attributes.local_window_size);
  call.scale = scale_from(attributes.scale);
  call.softcap = softcap_from(attributes.softcap);
  return call;
}

GroupQueryLengths group_query_lengths(const Vector<std::int64_t>& seqlens_k, std::int64_t queries) {
  const std::size_t batch = seqlens_k.size();
  return {tabulate(batch, [&](std::size_t b) { return std::min(queries, seqlens_k(b) + 1); }),
          tabulate(batch, [&](std::size_t b) { return seqlens_k(b) + 1; })};
}

Call jax_call(const JaxAttention& arguments) {
  Call call = convention("jax");
  call.causal = arguments.is_causal;
  call.scale = arguments.scale;
  if (arguments.local_window_size) {
    const auto [left, right] = *arguments.local_window_size;
    require(left >= 0 && right >= 0, "CNV.C1", "local_window_size: at least 0 to either side, got {} and {}", left,
            right);
    call.window_left = left;
    call.window_right = right;
  }
  return call;
}

Call transformers_call(const Transformers& arguments) {
  Call call = convention("transformers");
  call.causal = arguments.is_causal;
  call.scale = arguments.scaling;
  call.softcap = arguments.softcap;
  call.dropout = dropout_from(arguments.dropout, true);
  if (arguments.sliding_window) {
    require(*arguments.sliding_window > 0, "CNV.C1", "sliding_window: at least 1, got {}", *arguments.sliding_window);
    call.window_left = *arguments.sliding_window;
    if (!call.causal) call.window_right = call.window_left;
    if (!call.causal) call.window_counts = WindowCounts::others;
  }
  return call;
}

Call torchlean_call(const TorchLean& arguments) {
  Call call = convention("torchlean");
  call.dropout = dropout_from(arguments.probability.value_or(0), arguments.training);
  return call;
}

Call ggml_call(const GgmlFlash& arguments) {
  require(arguments.scale.has_value(), "CNV.C1", "scale: a number, since ggml has no default, got none");
  require(std::isfinite(*arguments.scale), "CNV.C1", "scale: a finite number, got {}", *arguments.scale);
  require_max_bias(arguments.max_bias);
  Call call = convention("ggml");
  call.scale = *arguments.scale;
  call.softcap = softcap_from(arguments.logit_softcap);
  return call;
}

}  // namespace attest
