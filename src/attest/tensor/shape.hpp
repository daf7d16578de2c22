#pragma once
/// Chapter 02 (SHP): shapes, checked at the door.

#include <cstddef>
#include <string>
#include <vector>

namespace attest {

using Shape = std::vector<std::size_t>;

/// SHP.D1  element_count(shape) = the product of the extents (1 for the empty shape). Refuses more than 2^48: SHP.C1.
std::size_t element_count(const Shape& shape);

/// Which elements of a tensor are a row: those that differ in some consecutive axes and agree in all others.
struct RowForm {
  std::size_t width;  ///< elements of a row
  std::size_t inner;  ///< how far apart they lie
};

/// SHP.D9  row_form(shape, first, last): rows along the axes first .. last-1. width = the product of their extents,
/// inner = the product of the extents after them.
RowForm row_form(const Shape& shape, std::size_t first, std::size_t last);

/// SHP.D9  element_of_row(r, c) = (floor(r / inner) * width + c) * inner + r mod inner: where element c of row r lies.
std::size_t element_of_row(const RowForm& form, std::size_t row, std::size_t c);

/// "(2, 3, 4)"
std::string to_string(const Shape& shape);

}  // namespace attest
