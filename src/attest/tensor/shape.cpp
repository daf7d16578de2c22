#include "attest/tensor/shape.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "attest/scalar/error.hpp"

namespace attest {

std::size_t element_count(const Shape& shape) {
  constexpr std::size_t limit = std::size_t(1) << 48;
  if (std::ranges::find(shape, std::size_t(0)) != shape.end()) return 0;
  std::size_t count = 1;
  for (const std::size_t extent : shape) {
    require(extent <= limit / count, "SHP.C1", "a tensor has at most 2^48 elements, got shape {}", to_string(shape));
    count *= extent;
  }
  return count;
}

std::string to_string(const Shape& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

}  // namespace attest
