#pragma once
/// The metadata of a case: its schema, its call record, its head counts.

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attest/conventions/conventions.hpp"

namespace attest {

inline const std::string case_schema = "attest-case-1";
inline const std::string layer_schema = "attest-layer-1";

/// Head counts that the metadata gives. Layout BSD needs them; any other has them in its shapes, which must agree.
struct HeadCounts {
  std::optional<std::size_t> q, k, v;
};

/// Takes them out of the metadata. Refuses what is no count: CAS.C7.
HeadCounts take_head_counts(std::map<std::string, std::string>& metadata);

struct CaseRecord {
  Call call;
  HeadCounts heads;
};

/// Reads the metadata with the overrides applied. Refuses another schema or a bad value (CAS.C7), an unknown key
/// (CAS.C5), and a record with open fields (CAS.C6).
CaseRecord record_of_case(std::map<std::string, std::string> metadata, const std::vector<Setting>& overrides);

/// Refuses metadata of a file of answers that is not of this schema or not of this layout. It may have none.
void check_result_metadata(const std::map<std::string, std::string>& metadata, const Call& call);

/// The metadata of a file of answers.
std::map<std::string, std::string> result_metadata(const Call& call);

/// The metadata of a case, every key of its record explicit.
std::map<std::string, std::string> case_metadata(const Call& call);

}  // namespace attest
