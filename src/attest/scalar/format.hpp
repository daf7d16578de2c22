#pragma once
/// Chapter 16 (FMT): the binary floating-point formats of tensors. Every value of every format is a binary64, so a
/// value is carried as `double`; the format says which doubles are its values and how a real is rounded to one.

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "attest/scalar/enclosure.hpp"

namespace attest {

enum class Format { f64, f32, f16, bf16, f8e4m3, f8e5m2 };

/// FMT.D1  The parameters of a format. Values are m * 2^(e - precision + 1) with |m| < 2^precision, e >= min_exponent.
struct FormatParameters {
  std::string_view name;
  int bits;          ///< width of an encoded value
  int precision;     ///< p, bits of the significand, the hidden one included
  int min_exponent;  ///< exponent of the smallest normal number
  int max_exponent;  ///< exponent of the largest finite number
  double largest;    ///< the largest finite number
  bool has_infinity;
};

/// IEEE 754-2019 table 3.5 for f64, f32, f16; bf16 is the upper half of f32; the f8 forms are those of the OCP 8-bit
/// floating point specification (E4M3 has no infinity and one NaN code of each sign).
constexpr FormatParameters parameters(Format format) {
  switch (format) {
    case Format::f64: return {"f64", 64, 53, -1022, 1023, 0x1.fffffffffffffp1023, true};
    case Format::f32: return {"f32", 32, 24, -126, 127, 0x1.fffffep127, true};
    case Format::f16: return {"f16", 16, 11, -14, 15, 65504.0, true};
    case Format::bf16: return {"bf16", 16, 8, -126, 127, 0x1.fep127, true};
    case Format::f8e4m3: return {"f8e4m3", 8, 4, -6, 8, 448.0, false};
    case Format::f8e5m2: return {"f8e5m2", 8, 3, -14, 15, 57344.0, true};
  }
  return {};
}

/// u = 2^-p, the unit roundoff.
constexpr double unit_roundoff(Format format) {
  return std::bit_cast<double>(std::uint64_t(1023 - parameters(format).precision) << 52);
}

/// FMT.D6  What becomes of a value beyond the largest: infinity where the format has one and NaN where it has not
/// (standard), or the largest finite number (saturate), each with the value's sign.
enum class Overflow { standard, saturate };

/// FMT.D2  decode(code): the value that the low `bits` bits of the code stand for.
double decode(Format format, std::uint64_t code);

/// FMT.D4  encode(x): the code of a value of the format. A NaN becomes the canonical quiet one.
std::uint64_t encode(Format format, double value);

/// FMT.D3  round_to(x) = the nearest multiple of the step at x, ties to the even multiple, then the overflow rule.
/// The step at x is 2^(max(floor(log2 |x|), min_exponent) - p + 1).
double round_to(Format format, double x, Overflow rule = Overflow::standard);
double round_to(Format format, const Point& x, Overflow rule = Overflow::standard);

/// FMT.D5  ordinal(x): the position of x among the values of its format in increasing order; both zeros have 0. An
/// infinity takes the place after the largest number. Not for NaN.
std::int64_t ordinal(Format format, double value);

/// FMT.D5  steps_between(a, b) = |ordinal(a) - ordinal(b)|
std::uint64_t steps_between(Format format, double a, double b);

/// Whether x is a value of the format (NaN and, where it exists, infinity included).
bool is_value_of(Format format, double x);

}  // namespace attest
