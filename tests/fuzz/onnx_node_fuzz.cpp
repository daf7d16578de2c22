/// Any attributes and shapes are an operation whose rows lie inside its tensors, or are refused by a constraint.

#include <array>
#include <cstdlib>

#include "attest/conventions/onnx_nodes.hpp"

namespace {

using namespace attest;

/// Small numbers from bytes; zeros when they are used up.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  std::int64_t number() { return size_ == 0 ? 0 : (--size_, static_cast<std::int8_t>(*data_++)); }
  std::size_t extent(std::size_t end) { return static_cast<std::size_t>(static_cast<std::uint8_t>(number())) % end; }
  Tensor<double> tensor() {
    Shape shape(extent(5));
    for (std::size_t& one : shape) one = extent(6);
    Tensor<double> t = Tensor<double>::from_shape(shape);
    for (double& x : t) x = static_cast<double>(number());
    return t;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

RowOperation operation_from(Bytes& bytes) {
  const std::size_t op = bytes.extent(3);
  if (op == 0) {
    const int version = std::array{1, 11, 13}[bytes.extent(3)];
    const OnnxSoftmax node{.version = version, .axis = bytes.number()};
    return onnx_softmax(node, bytes.tensor());
  }
  if (op == 1) {
    const OnnxRmsNormalization node{.axis = bytes.number(), .epsilon = {}, .stash_type = bytes.number()};
    const Tensor<double> x = bytes.tensor();
    return onnx_rms_normalization(node, x, bytes.tensor());
  }
  const bool positions = bytes.extent(2) == 1;
  OnnxRotaryEmbedding node{.interleaved = {}, .num_heads = bytes.number(), .rotary_embedding_dim = bytes.number()};
  if (*node.num_heads == 0) node.num_heads = std::nullopt;
  const Tensor<double> x = bytes.tensor(), cosines = bytes.tensor(), sines = bytes.tensor();
  return onnx_rotary_embedding(node, {x, cosines, sines, positions ? std::optional(bytes.tensor()) : std::nullopt});
}

void expect(bool holds) {
  if (!holds) std::abort();
}

void check_rows(const RowOperation& operation) {
  const std::size_t rows = operation.form.width == 0 ? 0 : operation.x.size() / operation.form.width;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t c = 0; c < operation.form.width; ++c) {
      expect(element_of_row(operation.form, row, c) < operation.x.size());
    }
  }
  if (const auto* norm = std::get_if<RmsNormRows>(&operation.what)) expect(norm->scale.shape() == operation.x.shape());
  if (const auto* rotary = std::get_if<RotaryRows>(&operation.what)) {
    expect(rotary->places.size() == rows && rotary->cosines.shape() == rotary->sines.shape());
    expect(2 * rotary->cosines.shape(1) <= operation.form.width);
    for (const std::size_t place : rotary->places) expect(place < rotary->cosines.shape(0));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  try {
    check_rows(operation_from(bytes));
  } catch (const Refused&) {
  }
  return 0;
}
