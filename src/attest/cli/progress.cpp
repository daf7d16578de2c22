#include "attest/cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

namespace attest {

namespace {

constexpr std::size_t width = 40;

double seconds(std::chrono::steady_clock::duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

ProgressBar::ProgressBar(std::string label) : label_(std::move(label)), terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

void ProgressBar::show(std::size_t done, std::size_t total) {
  const Clock::time_point now = Clock::now();
  if (!terminal_ || total == 0 || seconds(now - start_) < 0.5 || seconds(now - last_) < 0.1) return;
  last_ = now;
  drawn_ = true;
  const std::size_t filled = width * done / total;
  const double left = seconds(now - start_) * static_cast<double>(total - done) / static_cast<double>(done);
  fmt::print(stderr, "\r\033[K{} [{:#<{}}{:.<{}}] {}/{}, about {:.0f} s left", label_, "", filled, "", width - filled,
             done, total, left);
  std::fflush(stderr);
}

}  // namespace attest
