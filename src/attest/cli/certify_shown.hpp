#pragma once
/// `certify` as a command runs it: with an estimate and a progress bar on a terminal, silent in a pipe.

#include "attest/cli/case_kinds.hpp"
#include "attest/cli/progress.hpp"

namespace attest {

/// Says on a terminal how long certifying will take about, from timing a few products of enclosures here and now.
void announce(double products);

/// For every kind of case that case_kinds.hpp has.
template <class Given>
Certified certify_shown(const Given& given, const Formats& wanted) {
  announce(cost_of(given, wanted));
  ProgressBar bar("certifying");
  return certify(given, wanted, {}, [&](std::size_t done, std::size_t total) { bar.show(done, total); });
}

}  // namespace attest
