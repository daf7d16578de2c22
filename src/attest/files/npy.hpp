#pragma once
/// Arrays as numpy's .npy files hold them, one a file and without a name.

#include <optional>
#include <string>

#include "attest/files/array.hpp"

namespace attest {

/// The array of an .npy file held in memory. `file` names it in messages. The type is numpy's own; `declared` says what
/// the bits are where numpy has no word for it (bf16, f8), or holds them as integers of that width. Big-endian and
/// Fortran-ordered data are brought into the usual order. Refuses a bad header (CAS.C18), a type without a counterpart
/// or at odds with `declared` (CAS.C19), data that are not those of the shape (CAS.C20), and what decode_array refuses.
/// Nothing is allocated before the size is known to be right.
Array parse_npy(std::span<const std::byte> content, std::string_view file, std::optional<Dtype> declared = {});

/// The text of an .npy file that holds one: an array of no axes, of numpy's type U or S. In UTF-8, without the zeros
/// that fill it up. Refuses by CAS.C18, CAS.C19, CAS.C20.
std::string parse_npy_text(std::span<const std::byte> content, std::string_view file);

/// The bytes of an .npy file, version 1, little endian, in row-major order. bf16 and f8 are written as numpy writes
/// those of ml_dtypes: their bits, without the name of the type.
std::vector<std::byte> format_npy(const Array& array, std::string_view name);

}  // namespace attest
