#pragma once
/// How a test says that bad input is refused: with the constraint's id, naming the field, in one line.

#include <gtest/gtest.h>

#include <string>

#include "attest/scalar/error.hpp"

namespace attest {

/// What f is refused with; empty if it is not.
template <class F>
std::string refusal_of(F&& f) {
  try {
    f();
  } catch (const Refused& refused) {
    return refused.what();
  }
  return {};
}

/// Whether f is refused in one line that starts with "id: " and names the field.
template <class F>
testing::AssertionResult refuses(const std::string& id, const std::string& field, F&& f) {
  const std::string line = refusal_of(f);
  const bool fits = line.starts_with(id + ": ") && line.find(field) != std::string::npos &&
                    line.find('\n') == std::string::npos && line.size() < 1500;
  return (fits ? testing::AssertionSuccess() : testing::AssertionFailure())
         << (line.empty() ? "not refused" : "refused with: " + line) << "; due: " << id << " naming " << field;
}

}  // namespace attest
