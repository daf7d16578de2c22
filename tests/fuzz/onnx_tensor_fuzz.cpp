/// Any message is a tensor or is refused by a constraint, and a tensor's values are those of its element type.

#include <limits>

#include "attest/files/onnx_proto.hpp"
#include "attest/files/onnx_tensor.hpp"

namespace {

std::optional<attest::Array> read(const onnx::TensorProto& tensor) {
  try {
    return attest::array_from(tensor, "fuzz.pb");
  } catch (const attest::Refused&) {
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  onnx::TensorProto tensor;
  const bool fits = size <= std::size_t(std::numeric_limits<int>::max());
  if (!fits || !tensor.ParseFromArray(data, static_cast<int>(size))) return 0;
  if (const auto array = read(tensor)) attest::encode_array(*array, "fuzz.pb");
  return 0;
}
