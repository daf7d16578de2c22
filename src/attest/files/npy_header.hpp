#pragma once
/// The header of an .npy file, as it stands there; what it claims is checked elsewhere.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "attest/tensor/shape.hpp"

namespace attest {

/// What the header says, and where the data begin.
struct NpyHeader {
  std::string descr;  ///< the element type in numpy's words: "<f4", "|b1", "<U20"
  bool fortran_order;
  Shape shape;
  std::size_t bytes;  ///< from the first byte of the file to the last of the header
};

/// Reads magic, version (1 to 3) and the dictionary {'descr': text, 'fortran_order': bool, 'shape': (n, ...)}: these
/// three keys, each once, in any order. `file` names the file in messages. Refuses anything else: CAS.C18.
NpyHeader parse_npy_header(std::span<const std::byte> content, std::string_view file);

/// Magic, version 1 and dictionary, filled up so that the data begin at a multiple of 64 bytes, as numpy writes it.
std::string format_npy_header(std::string_view descr, const Shape& shape);

}  // namespace attest
