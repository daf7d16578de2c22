#include "attest/files/onnx_tensor.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attest/files/onnx_proto.hpp"
#include "attest/files/whole_file.hpp"
#include "attest/scalar/error.hpp"

namespace attest {

namespace {

using Bytes = std::vector<std::byte>;

static_assert(std::endian::native == std::endian::little, "typed fields are copied as they lie in memory");

std::size_t extent_from(std::int64_t extent, std::string_view file) {
  require(extent >= 0, "CAS.C14", "{}: dims: extents >= 0, got {}", file, extent);
  return static_cast<std::size_t>(extent);
}

Shape shape_from(const onnx::TensorProto& tensor, std::string_view file) {
  require(tensor.dims_size() <= 4, "CAS.C14", "{}: dims: at most 4 axes, got {}", file, tensor.dims_size());
  Shape shape;
  for (const std::int64_t extent : tensor.dims()) shape.push_back(extent_from(extent, file));
  return shape;
}

/// The number of elements. The other extents of an empty tensor are limited too: no data vouch for them, and loops run
/// over them.
std::size_t count_of(const Shape& shape, std::string_view file) {
  constexpr std::size_t most = std::size_t(1) << 48;
  constexpr std::size_t most_when_empty = std::size_t(1) << 20;
  std::size_t product = 1;
  bool empty = false;
  for (const std::size_t extent : shape) {
    require(extent <= most / product, "CAS.C14", "{}: dims: at most 2^48 elements, got {}", file, to_string(shape));
    empty = empty || extent == 0;
    product *= std::max<std::size_t>(extent, 1);
  }
  require(!empty || product <= most_when_empty, "CAS.C14", "{}: dims: at most 2^20 empty rows, got {}", file,
          to_string(shape));
  return empty ? 0 : product;
}

template <class Repeated>
Bytes bytes_of(const Repeated& values) {
  const auto bytes = std::as_bytes(std::span(values.data(), static_cast<std::size_t>(values.size())));
  return Bytes(bytes.begin(), bytes.end());
}

/// The entries of int32_data that a type admits: bool, the small integers, and the codes of the 16-bit formats.
std::pair<std::int32_t, std::int32_t> int32_range(Dtype dtype) {
  switch (dtype) {
    case Dtype::boolean: return {0, 1};
    case Dtype::u8: return {0, 0xFF};
    case Dtype::i8: return {-0x80, 0x7F};
    case Dtype::i16: return {-0x8000, 0x7FFF};
    case Dtype::i32: return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
    default: return {0, 0xFFFF};
  }
}

Bytes bytes_of_int32(const onnx::TensorProto& tensor, Dtype dtype, std::string_view file) {
  const auto [least, greatest] = int32_range(dtype);
  const std::size_t width = width_of(dtype);
  Bytes bytes;
  for (const std::int32_t value : tensor.int32_data()) {
    require(value >= least && value <= greatest, "CAS.C14", "{}: int32_data: {}..{}, got {}", file, least, greatest,
            value);
    const auto all = std::as_bytes(std::span(&value, 1));
    bytes.insert(bytes.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(width));
  }
  return bytes;
}

/// The data of a tensor that does not use raw_data, from the field that its type has.
Bytes typed_bytes(const onnx::TensorProto& tensor, Dtype dtype, std::string_view file) {
  switch (dtype) {
    case Dtype::f32: return bytes_of(tensor.float_data());
    case Dtype::f64: return bytes_of(tensor.double_data());
    case Dtype::i64: return bytes_of(tensor.int64_data());
    default: return bytes_of_int32(tensor, dtype, file);
  }
}

void check_storage(const onnx::TensorProto& tensor, std::size_t count, std::string_view file) {
  require(tensor.data_location() == onnx::TensorProto::DEFAULT && tensor.external_data_size() == 0, "CAS.C14",
          "{}: external_data: the data lie in the file itself", file);
  require(!tensor.has_segment(), "CAS.C14", "{}: segment: the tensor lies in one piece", file);
  const int used = !tensor.raw_data().empty() + (tensor.float_data_size() > 0) + (tensor.int32_data_size() > 0) +
                   (tensor.int64_data_size() > 0) + (tensor.double_data_size() > 0) + (tensor.uint64_data_size() > 0) +
                   (tensor.string_data_size() > 0);
  require(used == (count > 0 ? 1 : 0), "CAS.C14", "{}: {} elements lie in one field, got {} fields with data", file,
          count, used);
}

}  // namespace

std::optional<Dtype> dtype_from_onnx(int data_type) {
  switch (data_type) {
    case onnx::TensorProto::FLOAT: return Dtype::f32;
    case onnx::TensorProto::UINT8: return Dtype::u8;
    case onnx::TensorProto::INT8: return Dtype::i8;
    case onnx::TensorProto::INT16: return Dtype::i16;
    case onnx::TensorProto::INT32: return Dtype::i32;
    case onnx::TensorProto::INT64: return Dtype::i64;
    case onnx::TensorProto::BOOL: return Dtype::boolean;
    case onnx::TensorProto::FLOAT16: return Dtype::f16;
    case onnx::TensorProto::DOUBLE: return Dtype::f64;
    case onnx::TensorProto::BFLOAT16: return Dtype::bf16;
    default: return std::nullopt;
  }
}

Array array_from(const onnx::TensorProto& tensor, std::string_view file) {
  const std::optional<Dtype> dtype = dtype_from_onnx(tensor.data_type());
  require(dtype.has_value(), "CAS.C14", "{}: data_type: a type that attest reads, got {}", file, tensor.data_type());
  const Shape shape = shape_from(tensor, file);
  const std::size_t count = count_of(shape, file);
  check_storage(tensor, count, file);
  const Bytes typed = tensor.raw_data().empty() ? typed_bytes(tensor, *dtype, file) : Bytes();
  const auto bytes =
      tensor.raw_data().empty() ? std::span(typed) : std::as_bytes(std::span<const char>(tensor.raw_data()));
  require(bytes.size() == count * width_of(*dtype), "CAS.C14", "{}: {} elements of {} bytes, got {} bytes", file, count,
          width_of(*dtype), bytes.size());
  return decode_array(*dtype, shape, bytes, file);
}

void parse_message(const std::filesystem::path& file, google::protobuf::MessageLite& message) {
  const std::string name = file.filename().string();
  std::error_code error;
  require(std::filesystem::is_regular_file(file, error), "CAS.C14", "{}: no such file in the folder", name);
  require(std::filesystem::file_size(file, error) <= std::size_t(std::numeric_limits<int>::max()), "CAS.C14",
          "{}: at most 2 GiB", name);
  const std::vector<std::byte> bytes = read_whole(file);
  const bool parsed = bytes.size() <= std::size_t(std::numeric_limits<int>::max()) &&
                      message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  require(parsed, "CAS.C14", "{}: a whole protobuf message, does not parse", name);
}

Array read_onnx_tensor(const std::filesystem::path& file, std::string_view name) {
  onnx::TensorProto tensor;
  parse_message(file, tensor);
  const std::string shown = file.filename().string();
  require(tensor.name().empty() || tensor.name() == name, "CAS.C14", "{}: name: {:?} as in the graph, got {:?}", shown,
          name, tensor.name());
  return array_from(tensor, shown);
}

}  // namespace attest
