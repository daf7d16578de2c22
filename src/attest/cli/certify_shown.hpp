#pragma once
/// `certify` as a command runs it: with an estimate and a progress bar on a terminal, silent in a pipe.

#include "attest/certify/certify.hpp"

namespace attest {

/// Seconds that certifying the call will take about, from timing a few products of enclosures here and now.
double estimated_seconds(const Problem& problem);

std::map<std::string, CertifiedTensor> certify_shown(const Problem& problem,
                                                     const std::map<std::string, Format>& wanted);

}  // namespace attest
