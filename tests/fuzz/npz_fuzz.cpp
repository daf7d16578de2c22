/// Any bytes are an archive of arrays or are refused by a constraint. A change inside of a member is mostly caught by
/// its checksum, so what members may hold is for the targets npy and case_keys.

#include "attest/files/npz.hpp"
#include "attest/scalar/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    attest::parse_npz(std::as_bytes(std::span(data, size)));
  } catch (const attest::Refused&) {
  }
  return 0;
}
