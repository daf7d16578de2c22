/// Any message is a model of one Attention node, with a call record, or is refused by a constraint.

#include <limits>

#include "attest/files/onnx_model.hpp"
#include "attest/files/onnx_proto.hpp"
#include "attest/scalar/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  onnx::ModelProto model;
  const bool fits = size <= std::size_t(std::numeric_limits<int>::max());
  if (!fits || !model.ParseFromArray(data, static_cast<int>(size))) return 0;
  try {
    const attest::OnnxModel read = attest::model_from(attest::graph_from(model));
    attest::onnx_call(read.node);
  } catch (const attest::Refused&) {
  }
  return 0;
}
