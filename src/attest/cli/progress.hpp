#pragma once
/// A progress bar on a terminal; nothing in a pipe.

#include <chrono>
#include <cstddef>
#include <string>

namespace attest {

/// Draws on standard error once the work has taken half a second, and wipes itself at the end.
class ProgressBar {
 public:
  explicit ProgressBar(std::string label);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void show(std::size_t done, std::size_t total);

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_ = start_;
};

}  // namespace attest
