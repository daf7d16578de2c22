#pragma once
/// How bad input is refused: one sentence that starts with the id of the constraint it violates.

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>
#include <utility>

namespace attest {

/// A constraint of the specification does not hold. what() is "ID: what is wrong".
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// attest itself cannot answer: a safeguard fired. Nothing is wrong with the input.
class CannotAnswer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Refused("id: ...") unless the condition holds.
template <class... Args>
void require(bool condition, std::string_view id, fmt::format_string<Args...> text, Args&&... args) {
  if (!condition) {
    throw Refused(fmt::format("{}: {}", id, fmt::format(text, std::forward<Args>(args)...)));
  }
}

}  // namespace attest
