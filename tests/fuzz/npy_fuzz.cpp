/// Any bytes are an array, of the type they name or of a declared one, or are refused by a constraint; and what was
/// read comes back from what is written of it.

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "attest/files/npy.hpp"
#include "attest/scalar/error.hpp"

namespace {

using attest::Array;
using attest::Dtype;

std::optional<Array> read(std::span<const std::byte> content, std::optional<Dtype> declared) {
  try {
    return attest::parse_npy(content, "fuzz.npy", declared);
  } catch (const attest::Refused&) {
    return std::nullopt;
  }
}

void read_text(std::span<const std::byte> content) {
  try {
    attest::parse_npy_text(content, "fuzz.npy");
  } catch (const attest::Refused&) {
  }
}

bool same(const Array& a, const Array& b) {
  return a.dtype == b.dtype && a.values.shape() == b.values.shape() &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(),
                    [](double x, double y) { return std::isnan(x) ? std::isnan(y) : x == y; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span content = std::as_bytes(std::span(data, size));
  read_text(content);
  for (const std::optional<Dtype> declared : {std::optional<Dtype>(), std::optional(Dtype::bf16),
                                              std::optional(Dtype::f8e4m3), std::optional(Dtype::f8e5m2)}) {
    const std::optional<Array> array = read(content, declared);
    if (!array) continue;
    const std::vector<std::byte> written = attest::format_npy(*array, "fuzz.npy");
    if (!same(*array, attest::parse_npy(written, "again.npy", array->dtype))) std::abort();
  }
  return 0;
}
