#include "attest/files/case_record.hpp"

#include <algorithm>

#include "attest/conventions/text.hpp"
#include "attest/scalar/error.hpp"

namespace attest {

namespace {

using Metadata = std::map<std::string, std::string>;

/// Removes a key that is no field of the call record.
std::optional<std::string> take(Metadata& metadata, const std::string& key) {
  const auto node = metadata.extract(key);
  return node.empty() ? std::nullopt : std::optional<std::string>(node.mapped());
}

std::optional<std::size_t> take_count(Metadata& metadata, const std::string& key) {
  const std::optional<std::string> text = take(metadata, key);
  if (!text) return std::nullopt;
  const std::optional<std::int64_t> count = integer_from(*text);
  require(count && *count > 0, "CAS.C7", "{}: an integer of at least 1, got {}", key, *text);
  return static_cast<std::size_t>(*count);
}

std::string layout_text(const Call& call) {
  const std::vector<Setting> record = describe(call);
  return std::ranges::find(record, "layout", &Setting::key)->value;
}

}  // namespace

HeadCounts take_head_counts(Metadata& metadata) {
  return {take_count(metadata, "q_heads"), take_count(metadata, "k_heads"), take_count(metadata, "v_heads")};
}

CaseRecord record_of_case(Metadata metadata, const std::vector<Setting>& overrides) {
  const std::string schema =
      take(metadata, "schema").value_or("none; the keys of a case are its metadata, or case.json");
  require(schema == case_schema, "CAS.C7", "schema: {} or {}, got {}", case_schema, layer_schema, schema);
  for (const Setting& setting : overrides) metadata.insert_or_assign(setting.key, setting.value);
  const HeadCounts heads = take_head_counts(metadata);
  return {record_from(metadata), heads};
}

void check_result_metadata(const Metadata& metadata, const Call& call) {
  const Metadata expected = result_metadata(call);
  for (const auto& [key, value] : metadata) {
    require(expected.contains(key), "CAS.C5", "{}: no key of a file of answers, which takes its record from the case",
            key);
    require(expected.at(key) == value, "CAS.C7", "{}: {} as in the case, got {}", key, expected.at(key), value);
  }
}

Metadata result_metadata(const Call& call) { return {{"schema", case_schema}, {"layout", layout_text(call)}}; }

Metadata case_metadata(const Call& call) {
  Metadata metadata{{"schema", case_schema}};
  if (call.convention != "none") metadata.emplace("convention", call.convention);
  for (const Setting& setting : describe(call)) metadata.emplace(setting.key, setting.value);
  return metadata;
}

}  // namespace attest
