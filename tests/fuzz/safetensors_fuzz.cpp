/// Any bytes are a case or are refused by a constraint, and an attention case can be written and read again. Nothing
/// else happens.

#include <optional>

#include "attest/files/case.hpp"
#include "attest/files/case_file.hpp"
#include "attest/files/safetensors.hpp"

namespace {

std::optional<attest::AnyCase> read(std::span<const std::byte> file) {
  try {
    return attest::any_case_from(attest::parse_safetensors(file));
  } catch (const attest::Refused&) {
    return std::nullopt;
  } catch (const attest::CannotAnswer&) {  // padding would make a tensor too large
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto any = read(std::as_bytes(std::span(data, size)));
  if (const auto* one = any ? std::get_if<attest::Case>(&*any) : nullptr) {
    attest::case_from(attest::parse_safetensors(attest::format_safetensors(attest::archive_of(*one))));
  }
  return 0;
}
