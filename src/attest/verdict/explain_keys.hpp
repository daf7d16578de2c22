#pragma once
/// The first half of an explanation: which heads a query row reads and which keys it sees, with the ids of the
/// formulas.

#include <string>

#include "attest/definitions/problem.hpp"

namespace attest {

/// MHA.D1, MSK.D12, and every rule of MSK.D13 by itself with the keys that it shows, as text for people.
std::string explain_keys(const Problem& problem, std::size_t b, std::size_t h, std::size_t i);

/// What the bias of the row is made of (ATT.D9): "bias_ij", "-0.25 * |4 - j|", or both. Empty: there is none.
std::string bias_formula(const Problem& problem, std::size_t b, std::size_t h, std::size_t i);

}  // namespace attest
