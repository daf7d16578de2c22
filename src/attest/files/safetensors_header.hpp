#pragma once
/// The JSON header of a safetensors file, as it stands there; what it claims is checked elsewhere.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "attest/tensor/shape.hpp"

namespace attest {

/// What the header says of one tensor.
struct HeaderEntry {
  std::optional<std::string> dtype;
  std::optional<Shape> shape;
  std::optional<Shape> data_offsets;
};

struct SafetensorsHeader {
  std::map<std::string, HeaderEntry> entries;  ///< every part of an entry is there
  std::map<std::string, std::string> metadata;
};

/// Reads the header event by event, so that depth and size are bounded before anything is built. Refuses JSON of
/// another form, duplicate keys, and texts of control characters or more than 1024 bytes (they end up in reports):
/// CAS.C2.
SafetensorsHeader parse_safetensors_header(std::string_view text);

}  // namespace attest
