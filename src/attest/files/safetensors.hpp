#pragma once
/// The safetensors container: 8 bytes of header length, a JSON header, the tensors' bytes.

#include <filesystem>
#include <span>

#include "attest/files/array.hpp"

namespace attest {

/// Whether the bytes begin like a safetensors file: a header length, and the brace that opens the header.
bool looks_like_safetensors(std::span<const std::byte> file);

/// Reads a whole file held in memory. Refuses, naming the field: a header that exceeds the file or 100 MB (CAS.C1),
/// JSON of another form, nested too deep or with duplicate keys (CAS.C2), offsets that leave the file, overlap or leave
/// gaps (CAS.C3), an unknown dtype or a size that is not shape x width (CAS.C4). Values are allocated when all of that
/// holds, so never more than the file's size asks for.
Archive parse_safetensors(std::span<const std::byte> file);

/// The file's bytes. Deterministic: tensors by falling width of an element, then by name, so that each is aligned; no
/// padding beyond the header's alignment to 8.
std::vector<std::byte> format_safetensors(const Archive& archive);

}  // namespace attest
