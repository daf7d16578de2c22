#pragma once
/// A verdict, and how it is told: as text for people, as JSON for machines.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attest/verdict/compare.hpp"

namespace attest {

/// Everything that one `attest check` says.
struct Report {
  std::string case_name;
  std::vector<std::pair<std::string, std::string>> record;  ///< the whole call record, key and value
  std::vector<std::pair<std::string, Shape>> inputs;
  std::vector<Comparison> outputs;
  std::optional<std::uint64_t> max_ulp;
};

enum class Verdict {
  measured,      ///< no limit was given; the structure is sound
  accepted,      ///< every element lies within the limit
  not_accepted,  ///< the structure is wrong, or an element lies beyond the limit
};

/// The verdict and, unless it is accepted or measured, the reasons.
struct Judgement {
  Verdict verdict;
  std::vector<std::string> reasons;
};

/// With a limit, accepted means that every element lies within it. Without one, structure alone is judged.
Judgement judge(const Report& report);

std::string text_of(const Report& report);
std::string json_of(const Report& report);

}  // namespace attest
