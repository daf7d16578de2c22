#include "attest/files/array.hpp"

#include <algorithm>
#include <array>

namespace attest {

namespace {

constexpr std::int64_t largest_exact = std::int64_t(1) << 53;
/// A tensor without elements costs no bytes, yet its other extents could still keep loops busy for ever.
constexpr std::size_t most_empty_rows = std::size_t(1) << 20;

struct DtypeTraits {
  Dtype dtype;
  std::string_view name;
  std::size_t width;
  std::optional<Format> format;  ///< of a floating type
  std::int64_t lowest;           ///< of the others, the range that a binary64 carries exactly
  std::int64_t highest;
};

constexpr std::array<DtypeTraits, 12> dtypes = {{
    {Dtype::f64, "F64", 8, Format::f64, 0, 0},
    {Dtype::f32, "F32", 4, Format::f32, 0, 0},
    {Dtype::f16, "F16", 2, Format::f16, 0, 0},
    {Dtype::bf16, "BF16", 2, Format::bf16, 0, 0},
    {Dtype::f8e4m3, "F8_E4M3", 1, Format::f8e4m3, 0, 0},
    {Dtype::f8e5m2, "F8_E5M2", 1, Format::f8e5m2, 0, 0},
    {Dtype::i64, "I64", 8, std::nullopt, -largest_exact, largest_exact},
    {Dtype::i32, "I32", 4, std::nullopt, -(std::int64_t(1) << 31), (std::int64_t(1) << 31) - 1},
    {Dtype::i16, "I16", 2, std::nullopt, -32768, 32767},
    {Dtype::i8, "I8", 1, std::nullopt, -128, 127},
    {Dtype::u8, "U8", 1, std::nullopt, 0, 255},
    {Dtype::boolean, "BOOL", 1, std::nullopt, 0, 1},
}};

const DtypeTraits& traits(Dtype dtype) { return *std::ranges::find(dtypes, dtype, &DtypeTraits::dtype); }

std::uint64_t load(std::span<const std::byte> bytes) {
  std::uint64_t code = 0;
  for (std::size_t n = bytes.size(); n-- > 0;) code = code << 8 | std::to_integer<std::uint64_t>(bytes[n]);
  return code;
}

void store(std::uint64_t code, std::span<std::byte> bytes) {
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(code & 0xff);
    code >>= 8;
  }
}

/// The code of an integer type as a number; signed types have their sign in the highest of their bits.
std::int64_t integer_of(const DtypeTraits& type, std::uint64_t code) {
  if (type.lowest == 0) return static_cast<std::int64_t>(code);
  const std::size_t unused = 64 - 8 * type.width;
  return static_cast<std::int64_t>(code << unused) >> unused;
}

double value_of(const DtypeTraits& type, std::uint64_t code, std::string_view name) {
  if (type.format) return decode(*type.format, code);
  const std::int64_t integer = integer_of(type, code);
  require(type.lowest <= integer && integer <= type.highest, "CAS.C10", "{}: {} values in {}..{}, got {}", name,
          type.name, type.lowest, type.highest, integer);
  return static_cast<double>(integer);
}

std::uint64_t code_of(const DtypeTraits& type, double value) {
  return type.format ? encode(*type.format, value) : static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
}

}  // namespace

std::string_view name_of(Dtype dtype) { return traits(dtype).name; }

std::optional<Dtype> dtype_named(std::string_view name) {
  const auto found = std::ranges::find(dtypes, name, &DtypeTraits::name);
  return found == dtypes.end() ? std::nullopt : std::optional<Dtype>(found->dtype);
}

std::size_t width_of(Dtype dtype) { return traits(dtype).width; }

std::optional<Format> format_of(Dtype dtype) { return traits(dtype).format; }

Dtype dtype_of(Format format) { return std::ranges::find(dtypes, format, &DtypeTraits::format)->dtype; }

bool is_value_of(Dtype dtype, double value) {
  const DtypeTraits& type = traits(dtype);
  if (type.format) return is_value_of(*type.format, value);
  return std::trunc(value) == value && static_cast<double>(type.lowest) <= value &&
         value <= static_cast<double>(type.highest);
}

std::optional<std::size_t> stored_count(const Shape& shape, std::size_t bytes) {
  const bool empty = std::ranges::find(shape, std::size_t(0)) != shape.end();
  const std::size_t limit = empty ? most_empty_rows : bytes;
  std::size_t product = 1;  // of the extents that are not 0
  for (const std::size_t extent : shape) {
    if (extent > limit / product) return std::nullopt;
    product *= std::max<std::size_t>(extent, 1);
  }
  return empty ? 0 : product;
}

Array decode_array(Dtype dtype, const Shape& shape, std::span<const std::byte> bytes, std::string_view name) {
  const DtypeTraits& type = traits(dtype);
  Array array{dtype, Tensor<double>::from_shape(shape)};
  for (std::size_t n = 0; n < array.values.size(); ++n) {
    array.values.data()[n] = value_of(type, load(bytes.subspan(n * type.width, type.width)), name);
  }
  return array;
}

std::vector<std::byte> encode_array(const Array& array, std::string_view name) {
  const DtypeTraits& type = traits(array.dtype);
  std::vector<std::byte> bytes(array.values.size() * type.width);
  for (std::size_t n = 0; n < array.values.size(); ++n) {
    const double value = array.values.data()[n];
    require(is_value_of(array.dtype, value), "CAS.C10", "{}: a value of {}, got {}", name, type.name, value);
    store(code_of(type, value), std::span(bytes).subspan(n * type.width, type.width));
  }
  return bytes;
}

}  // namespace attest
