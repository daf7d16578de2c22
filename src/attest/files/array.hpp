#pragma once
/// Tensors as files hold them: a name for the element type, a shape, and values that a binary64 carries exactly.

#include <map>
#include <optional>
#include <string>

#include "attest/scalar/format.hpp"
#include "attest/tensor/tensor.hpp"

namespace attest {

/// Element types of files. The floating ones are the formats of chapter 16.
enum class Dtype { f64, f32, f16, bf16, f8e4m3, f8e5m2, i64, i32, i16, i8, u8, boolean };

/// A tensor read from a file. Integers beyond 2^53 are refused on reading, so every value is exact. A -0 and the
/// position of a NaN are kept.
struct Array {
  Dtype dtype;
  Tensor<double> values;
};

std::string_view name_of(Dtype dtype);                    ///< "F32", "BOOL", ... as safetensors spells it
std::optional<Dtype> dtype_named(std::string_view name);  ///< the inverse
std::size_t width_of(Dtype dtype);                        ///< bytes an element
std::optional<Format> format_of(Dtype dtype);             ///< nullopt for integers and booleans
Dtype dtype_of(Format format);

/// Whether an element type can hold the value. A NaN is a value of every floating type.
bool is_value_of(Dtype dtype, double value);

/// The number of elements of a shape, or nullopt where the shape is too large for a file that has only `bytes` left for
/// them: as many elements, or, of a shape without elements, other extents whose product is at most 2^20, lest loops
/// over them stay busy for ever. Without overflow on the way.
std::optional<std::size_t> stored_count(const Shape& shape, std::size_t bytes);

/// `bytes` (little endian, width_of(dtype) each) as values of the shape; the caller has checked the size. Refuses,
/// naming the tensor, an integer beyond 2^53 and a boolean other than 0 and 1: CAS.C10.
Array decode_array(Dtype dtype, const Shape& shape, std::span<const std::byte> bytes, std::string_view name);

/// The inverse. Refuses, naming the tensor, a value that is not one of the dtype's: CAS.C10.
std::vector<std::byte> encode_array(const Array& array, std::string_view name);

/// A file's tensors by name and its metadata.
struct Archive {
  std::map<std::string, Array> tensors;
  std::map<std::string, std::string> metadata;
};

}  // namespace attest
