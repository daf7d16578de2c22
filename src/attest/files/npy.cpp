#include "attest/files/npy.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "attest/files/npy_header.hpp"

namespace attest {

namespace {

struct TypeName {
  std::string_view descr;  ///< without the byte order
  Dtype dtype;
};

/// What numpy calls the element types. The names without a number are those of ml_dtypes.
constexpr std::array<TypeName, 12> type_names = {{
    {"f8", Dtype::f64},
    {"f4", Dtype::f32},
    {"f2", Dtype::f16},
    {"i8", Dtype::i64},
    {"i4", Dtype::i32},
    {"i2", Dtype::i16},
    {"i1", Dtype::i8},
    {"u1", Dtype::u8},
    {"b1", Dtype::boolean},
    {"bfloat16", Dtype::bf16},
    {"float8_e4m3fn", Dtype::f8e4m3},
    {"float8_e5m2", Dtype::f8e5m2},
}};

/// An element type as a header names it: byte order, kind and width, or one of ml_dtypes by name.
struct ElementType {
  bool big_endian;
  std::string_view name;  ///< without the byte order
  char kind() const { return name.empty() ? '\0' : name.front(); }
};

ElementType element_type(const NpyHeader& header) {
  const std::string_view descr = header.descr;
  const bool ordered = descr.starts_with('<') || descr.starts_with('>') || descr.starts_with('|');
  return {descr.starts_with('>'), ordered ? descr.substr(1) : descr};
}

std::optional<Dtype> dtype_of(const ElementType& type) {
  const auto found = std::ranges::find(type_names, type.name, &TypeName::descr);
  return found == type_names.end() ? std::nullopt : std::optional<Dtype>(found->dtype);
}

/// Whether elements of this type may be the codes of another type of the width: numpy's void; integers, which stand in
/// for what a library cannot hand to numpy; and "f1", as which ml_dtypes 0.6 writes one of the f8.
bool may_hold_codes(const ElementType& type, std::size_t width) {
  const std::string number = std::to_string(width);
  const auto is = [&](char kind) { return type.name == kind + number; };
  return is('V') || is('i') || is('u') || type.name == "f1";
}

Dtype dtype_from(const NpyHeader& header, std::string_view file, std::optional<Dtype> declared) {
  const ElementType type = element_type(header);
  const std::optional<Dtype> named = dtype_of(type);
  if (!declared) {
    require(named.has_value(), "CAS.C19",
            "{}.descr: a type of case-format.md, or one that \"dtypes\" declares, got \"{}\"", file, header.descr);
    return *named;
  }
  const bool fits = named == declared || (format_of(*declared) && may_hold_codes(type, width_of(*declared)));
  require(fits, "CAS.C19", "{}.descr: {} as \"dtypes\" declares, or its bits, got \"{}\"", file, name_of(*declared),
          header.descr);
  return *declared;
}

/// The bytes of each element in the other order.
std::vector<std::byte> reversed(std::span<const std::byte> data, std::size_t width) {
  std::vector<std::byte> result(data.begin(), data.end());
  for (std::size_t n = 0; n < result.size(); n += width) std::reverse(&result[n], &result[n] + width);
  return result;
}

/// The values of a tensor whose first axis is the one that runs fastest, in row-major order.
Tensor<double> from_fortran_order(const Tensor<double>& stored) {
  const Shape shape(stored.shape().begin(), stored.shape().end());
  Tensor<double> result = Tensor<double>::from_shape(shape);
  Shape index(shape.size(), 0);
  for (std::size_t n = 0; n < stored.size(); ++n) {
    result.element(index.begin(), index.end()) = stored.data()[n];
    for (std::size_t axis = 0; axis < index.size() && ++index[axis] == shape[axis]; ++axis) index[axis] = 0;
  }
  return result;
}

std::span<const std::byte> data_of(const NpyHeader& header, std::span<const std::byte> content, std::size_t width,
                                   std::string_view file) {
  const std::span<const std::byte> data = content.subspan(header.bytes);
  const std::optional<std::size_t> count = stored_count(header.shape, data.size());
  require(count.has_value(), "CAS.C20", "{}: shape {} is too large for this file", file, to_string(header.shape));
  require(*count * width == data.size(), "CAS.C20", "{}: \"{}\" of shape {} takes {} bytes, got {}", file, header.descr,
          to_string(header.shape), *count * width, data.size());
  return data;
}

void append_utf8(std::string& text, std::uint32_t c) {
  const auto continued = [](std::uint32_t bits) { return static_cast<char>(0x80 | (bits & 0x3f)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += {static_cast<char>(0xc0 | c >> 6), continued(c)};
  } else if (c < 0x10000) {
    text += {static_cast<char>(0xe0 | c >> 12), continued(c >> 6), continued(c)};
  } else {
    text += {static_cast<char>(0xf0 | c >> 18), continued(c >> 12), continued(c >> 6), continued(c)};
  }
}

std::string from_utf32(std::span<const std::byte> data, bool big_endian, std::string_view file) {
  std::string text;
  for (std::size_t n = 0; n < data.size(); n += 4) {
    std::uint32_t c = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      c = c << 8 | std::to_integer<std::uint32_t>(data[n + (big_endian ? k : 3 - k)]);
    }
    require(c <= 0x10ffff && (c < 0xd800 || 0xdfff < c), "CAS.C19", "{}: a text of Unicode, got 0x{:x}", file, c);
    append_utf8(text, c);
  }
  return text;
}

std::string_view written_as(Dtype dtype) {
  switch (dtype) {
    case Dtype::bf16: return "<V2";
    case Dtype::f8e4m3:
    case Dtype::f8e5m2: return "|V1";
    default: return std::ranges::find(type_names, dtype, &TypeName::dtype)->descr;
  }
}

}  // namespace

Array parse_npy(std::span<const std::byte> content, std::string_view file, std::optional<Dtype> declared) {
  const NpyHeader header = parse_npy_header(content, file);
  const Dtype dtype = dtype_from(header, file, declared);
  const std::size_t width = width_of(dtype);
  const std::span<const std::byte> data = data_of(header, content, width, file);
  const bool swapped = element_type(header).big_endian && width > 1;
  Array array = swapped ? decode_array(dtype, header.shape, reversed(data, width), file)
                        : decode_array(dtype, header.shape, data, file);
  if (header.fortran_order) array.values = from_fortran_order(array.values);
  return array;
}

std::string parse_npy_text(std::span<const std::byte> content, std::string_view file) {
  const NpyHeader header = parse_npy_header(content, file);
  const ElementType type = element_type(header);
  const bool wide = type.kind() == 'U';
  const std::span<const std::byte> data = content.subspan(header.bytes);
  const std::size_t characters = wide ? data.size() / 4 : data.size();
  require(wide || type.kind() == 'S', "CAS.C19", "{}.descr: a text, of type U or S, got \"{}\"", file, header.descr);
  require(header.shape.empty() && data.size() == characters * (wide ? 4 : 1) &&
              type.name.substr(1) == std::to_string(characters),
          "CAS.C20", "{}: one text that fills the file, got \"{}\" of shape {} in {} bytes", file, header.descr,
          to_string(header.shape), data.size());
  std::string text = wide ? from_utf32(data, type.big_endian, file)
                          : std::string(reinterpret_cast<const char*>(data.data()), data.size());
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

std::vector<std::byte> format_npy(const Array& array, std::string_view name) {
  const std::string_view written = written_as(array.dtype);
  const bool has_order = written.starts_with('<') || written.starts_with('|');
  const std::string descr = fmt::format("{}{}", has_order ? "" : width_of(array.dtype) == 1 ? "|" : "<", written);
  const std::string header = format_npy_header(descr, Shape(array.values.shape().begin(), array.values.shape().end()));
  const std::vector<std::byte> data = encode_array(array, name);
  std::vector<std::byte> content(header.size() + data.size());
  std::memcpy(content.data(), header.data(), header.size());
  std::ranges::copy(data, content.begin() + static_cast<std::ptrdiff_t>(header.size()));
  return content;
}

}  // namespace attest
