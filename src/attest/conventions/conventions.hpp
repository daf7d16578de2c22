#pragma once
/// Chapter 20 (CNV): what a named system means by an attention call, as a filled call record; and the record as text.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "attest/definitions/call.hpp"

namespace attest {

/// One field of the call record as text, as a case file and a report spell it.
struct Setting {
  std::string key;
  std::string value;

  friend bool operator==(const Setting&, const Setting&) = default;
};

/// CNV.D1  The record that a convention stands for. Refuses a name that is not one of convention_names(): CAS.C6.
Call convention(std::string_view name);
std::vector<std::string> convention_names();

/// CNV.D15  said_in(call, name): the same call as that system would spell it. Layout, polarities and the way windows
/// are counted are the system's; every other field is a meaning, and stays. Refuses an unknown name: CAS.C6.
Call said_in(const Call& call, std::string_view name);

/// The keys of the call record in the order of chapter 05's table, `convention` excluded.
const std::vector<std::string>& record_keys();

/// Sets one field from text. Refuses an unknown key (CAS.C5) and an inadmissible value (CAS.C7), naming both.
void set(Call& call, const std::string& key, const std::string& value);

/// Every field but `convention` as text, in the order of record_keys(); set() of every entry gives the record back.
std::vector<Setting> describe(const Call& call);

/// Refuses fields that each are admissible and together are not: CAS.C7.
void require_consistent(const Call& call);

/// The record of a case: its convention with the explicit keys applied; without a convention every key must be there,
/// otherwise it is refused with the list of those missing: CAS.C6. The record of such a case has convention "none".
Call record_from(const std::map<std::string, std::string>& keys);

}  // namespace attest
