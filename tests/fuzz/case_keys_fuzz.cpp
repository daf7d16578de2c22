/// Any text is the keys of a case or is refused by a constraint, and keys are printable.

#include <algorithm>
#include <cstdlib>

#include "attest/files/case_keys.hpp"
#include "attest/scalar/error.hpp"

namespace {

void require_printable(const std::string& text) {
  if (std::ranges::any_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; })) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string text(data, data + size);
    const attest::CaseKeys keys = attest::parse_case_keys(text, "fuzz.json");
    for (const auto& [key, value] : keys.metadata) {
      require_printable(key);
      require_printable(value);
    }
    for (const auto& [name, dtype] : keys.dtypes) require_printable(name);
  } catch (const attest::Refused&) {
  }
  return 0;
}
