#pragma once
/// Folders of ONNX nodes beside attention: sound ones, for a test to read or to spoil.

#include "attest/conventions/onnx_nodes.hpp"
#include "support/onnx_folders.hpp"

namespace attest {

/// 0, 1, 2, ...
inline std::vector<float> counting(std::size_t n) {
  std::vector<float> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(static_cast<float>(i));
  return values;
}

inline NodeFolder softmax(std::int64_t opset) {
  NodeFolder folder("Softmax", opset);
  folder.input(0, floats("x", {2, 3, 4}, counting(24)));
  folder.output(0, zeros("y", {2, 3, 4}));
  return folder;
}

inline NodeFolder rms_normalization() {
  NodeFolder folder("RMSNormalization", 23);
  folder.input(0, floats("a", {2, 3, 4}, counting(24)));
  folder.input(1, floats("b", {4}, {1, 2, 3, 4}));
  folder.output(0, zeros("y", {2, 3, 4}));
  return folder;
}

/// Two batch entries, three heads, two places, width 4; a cache of five positions.
inline NodeFolder rotary_embedding(const Dims& x = {2, 3, 2, 4}) {
  NodeFolder folder("RotaryEmbedding", 23);
  folder.input(0, floats("x", x, counting(48)));
  folder.input(1, floats("cos", {5, 2}, counting(10)));
  folder.input(2, floats("sin", {5, 2}, counting(10)));
  onnx::TensorProto ids = empty_tensor("ids", onnx::TensorProto::INT64, {2, 2});
  for (const std::int64_t id : {0, 4, 3, 1}) ids.add_int64_data(id);
  folder.input(3, ids);
  folder.output(0, zeros("y", x));
  return folder;
}

}  // namespace attest
