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

RowForm row_form(const Shape& shape, std::size_t first, std::size_t last) {
  const auto axis = [&](std::size_t n) { return shape.begin() + static_cast<std::ptrdiff_t>(n); };
  return {element_count(Shape(axis(first), axis(last))), element_count(Shape(axis(last), shape.end()))};
}

std::size_t element_of_row(const RowForm& form, std::size_t row, std::size_t c) {
  return (row / form.inner * form.width + c) * form.inner + row % form.inner;
}

std::string to_string(const Shape& shape) { return fmt::format("({})", fmt::join(shape, ", ")); }

}  // namespace attest
