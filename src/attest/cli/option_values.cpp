#include "attest/cli/option_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "attest/conventions/text.hpp"
#include "attest/scalar/error.hpp"
#include "attest/tensor/shape.hpp"

namespace attest {

Format format_named(const std::string& name) {
  for (const Format format : {Format::f64, Format::f32, Format::f16, Format::bf16, Format::f8e4m3, Format::f8e5m2}) {
    if (parameters(format).name == name) return format;
  }
  require(false, "CAS.C7", "--dtype: one of f64, f32, f16, bf16, f8e4m3, f8e5m2, got \"{}\"", name);
  return {};
}

QueryRow query_row_named(const std::string& text, const Extents& n) {
  std::vector<std::size_t> at;
  const Shape extent{n.batch, n.q_heads, n.queries};
  for (std::size_t start = 0; start <= text.size() && at.size() < 4;) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::optional<std::int64_t> index = integer_from(text.substr(start, comma - start));
    const bool within = index && at.size() < 3 && *index >= 0 && static_cast<std::size_t>(*index) < extent[at.size()];
    require(within, "CAS.C7", "--row: b,h,i below {}, got \"{}\"", fmt::join(extent, ","), text);
    at.push_back(static_cast<std::size_t>(*index));
    start = comma + 1;
  }
  require(at.size() == 3, "CAS.C7", "--row: b,h,i below {}, got \"{}\"", fmt::join(extent, ","), text);
  return {at[0], at[1], at[2]};
}

}  // namespace attest
