#pragma once
/// The keys of a case whose arrays come from numpy: a flat JSON object, in case.json or in an array named case.

#include <map>
#include <string>
#include <string_view>

#include "attest/files/array.hpp"

namespace attest {

struct CaseKeys {
  std::map<std::string, std::string> metadata;
  std::map<std::string, Dtype> dtypes;  ///< by array, where numpy's own type does not say it
};

/// Reads {"key": text, number, true or false, ..., "dtypes": {"array": "BF16", ...}}. A number keeps the digits with
/// which it is written. `file` names the text in messages. Refuses any other JSON, duplicate keys, and texts of control
/// characters or more than 1024 bytes (they end up in reports): CAS.C21. Refuses an unknown element type: CAS.C19.
CaseKeys parse_case_keys(std::string_view text, std::string_view file);

}  // namespace attest
