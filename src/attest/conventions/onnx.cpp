#include "attest/conventions/onnx.hpp"

#include <cmath>

#include "attest/conventions/conventions.hpp"
#include "attest/scalar/error.hpp"

namespace attest {

namespace {

constexpr std::int64_t weights_mode = 3;

/// A side of the window; ONNX does not count the query's own key. A side beyond every possible key is no bound.
std::optional<long> window_side(const OnnxAttention& node, std::optional<std::int64_t> size, std::string_view name) {
  constexpr std::int64_t beyond_every_key = std::int64_t(1) << 50;
  if (!size) return std::nullopt;
  require(node.version >= 25, "CAS.C13", "{}: only in version 25 of Attention, got it in version {}", name,
          node.version);
  require(*size >= -1, "CAS.C13", "{}: -1 (unbounded) or a number of keys, got {}", name, *size);
  if (*size == -1 || *size >= beyond_every_key) return std::nullopt;
  return *size;
}

/// The exact value of the attribute, 0 included. The operator's bodies take the root of the scale.
std::optional<double> scale_from(const OnnxAttention& node) {
  if (!node.scale) return std::nullopt;
  require(std::isfinite(*node.scale) && *node.scale >= 0, "CAS.C13", "scale: a finite number >= 0, got {}",
          *node.scale);
  return *node.scale;
}

/// 0 is none. For a negative softcap the text is silent, and one body applies it while the other ignores it.
std::optional<double> softcap_from(const OnnxAttention& node) {
  const float softcap = node.softcap.value_or(0);
  require(std::isfinite(softcap) && softcap >= 0, "CAS.C13", "softcap: a finite number >= 0, got {}", softcap);
  if (softcap == 0) return std::nullopt;
  return softcap;
}

bool causal_from(const OnnxAttention& node) {
  const std::int64_t causal = node.is_causal.value_or(0);
  require(causal == 0 || causal == 1, "CAS.C13", "is_causal: 0 or 1, got {}", causal);
  return causal == 1;
}

/// Without a cache the causal frontier starts at the first key, whatever the extents.
Alignment alignment_from(const OnnxAttention& node) {
  if (node.past) return Alignment::after_past;
  return node.nonpad ? Alignment::offsets : Alignment::top_left;
}

/// In mode 3 there are no scores, and the record's field says nothing.
ScoreStage stage_from(const OnnxAttention& node, QkModes modes) {
  const std::int64_t mode = node.qk_matmul_output_mode.value_or(0);
  require(mode >= 0 && mode <= weights_mode, "CAS.C13", "qk_matmul_output_mode: 0, 1, 2 or 3, got {}", mode);
  if (mode == 0) return ScoreStage::scaled;
  const std::int64_t capped_mode = modes == QkModes::current ? 1 : 2;
  return mode == capped_mode ? ScoreStage::capped : ScoreStage::biased;
}

/// The bodies know these four types.
std::string_view softmax_precision_from(const OnnxAttention& node) {
  if (!node.softmax_precision) return "T1";
  const std::optional<Format> type = onnx_floating_type(*node.softmax_precision);
  require(type.has_value(), "CAS.C13", "softmax_precision: 1, 10, 11 or 16, got {}", *node.softmax_precision);
  return onnx_name_of(*type);
}

void check_heads(const OnnxAttention& node, std::optional<std::int64_t> heads, std::string_view name) {
  require(heads || node.rank != 3, "CAS.C13", "{}: required for inputs of three axes", name);
  if (!heads) return;
  require(*heads > 0, "CAS.C13", "{}: at least 1, got {}", name, *heads);
  require(node.rank == 3 || node.version < 25, "CAS.C13",
          "{}: absent for inputs of four axes in version 25 of Attention", name);
}

void check_inputs(const OnnxAttention& node) {
  require(node.version >= 23 && node.version <= 25, "CAS.C12", "Attention: version 23, 24 or 25, got {}", node.version);
  require(node.rank == 3 || node.rank == 4, "CAS.C12", "Q: three or four axes, got {}", node.rank);
  require(!node.nonpad || node.version >= 24, "CAS.C12", "nonpad_kv_seqlen: not an input of version 23 of Attention");
  require(!node.nonpad || !node.past, "CAS.C12", "nonpad_kv_seqlen: not together with past_key and past_value");
  check_heads(node, node.q_num_heads, "q_num_heads");
  check_heads(node, node.kv_num_heads, "kv_num_heads");
}

}  // namespace

Call onnx_call(const OnnxAttention& node, QkModes modes) {
  check_inputs(node);
  Call call = convention(fmt::format("onnx-{}", node.version));
  call.layout = node.rank == 3 ? Layout::bsd : Layout::bhsd;
  call.scale = scale_from(node);
  call.softcap = softcap_from(node);
  call.bias_position = BiasPosition::after_softcap;
  call.causal = causal_from(node);
  call.alignment = alignment_from(node);
  call.window_left = window_side(node, node.left_window_size, "left_window_size");
  call.window_right = window_side(node, node.right_window_size, "right_window_size");
  call.window_counts = WindowCounts::others;
  call.mask_short = node.version >= 24 ? ShortMask::hide : ShortMask::refuse;
  call.scores_stage = stage_from(node, modes);
  call.arithmetic = fmt::format("onnx: computed in T1={}, softmax_precision={}", onnx_name_of(node.type),
                                softmax_precision_from(node));
  return call;
}

std::string qk_output_name(const OnnxAttention& node) {
  return node.qk_matmul_output_mode.value_or(0) == weights_mode ? "weights" : "scores";
}

std::optional<Format> onnx_floating_type(std::int64_t data_type) {
  switch (data_type) {
    case 1: return Format::f32;
    case 10: return Format::f16;
    case 11: return Format::f64;
    case 16: return Format::bf16;
    default: return std::nullopt;
  }
}

std::string_view onnx_name_of(Format format) {
  switch (format) {
    case Format::f64: return "float64";
    case Format::f32: return "float32";
    case Format::f16: return "float16";
    case Format::bf16: return "bfloat16";
    default: return parameters(format).name;
  }
}

QkModes qk_modes_from(const std::string& text) {
  require(text == "current" || text == "before-1.22", "CAS.C7", "onnx_qk_modes: current or before-1.22, got {:?}",
          text);
  return text == "current" ? QkModes::current : QkModes::before_1_22;
}

}  // namespace attest
