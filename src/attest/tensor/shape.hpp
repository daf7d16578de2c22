#pragma once
/// Chapter 02 (SHP): shapes, checked at the door.

#include <cstddef>
#include <string>
#include <vector>

namespace attest {

using Shape = std::vector<std::size_t>;

/// SHP.D1  element_count(shape) = the product of the extents (1 for the empty shape). Refuses more than 2^48: SHP.C1.
std::size_t element_count(const Shape& shape);

/// "(2, 3, 4)"
std::string to_string(const Shape& shape);

}  // namespace attest
