#pragma once
/// Chapter 18 (BND): running errors: how far every number of a recorded computation, and every derivative that is
/// propagated backwards through it, can be from its real value when a machine computes it, whatever the order of sums.
/// The machine's arithmetic is binary64.

#include "attest/certify/bounds.hpp"
#include "attest/certify/upper.hpp"
#include "attest/scalar/recorded.hpp"

namespace attest {

/// A real number, and a bound of the error with which it is computed.
struct Approximated {
  Enclosure real;
  Upper error;
};

/// A step of a tape. As a term of a further sum it is a sum itself: of so many terms, with the errors and the
/// magnitudes of the terms added up; no bracket of the sum is taken for granted.
struct ComputedStep : Approximated {
  Upper errors, magnitudes;
  std::size_t terms = 1;
};

/// BND.B6  computed_steps(tape, x): running errors forwards. Refuses an operation without a rule, BND.C4, and
/// numbers beyond 2^64, BND.C5.
std::vector<ComputedStep> computed_steps(const Tape& tape, std::span<const double> inputs);

/// BND.B7  computed_derivatives(tape, steps, y): running errors backwards: of the derivatives of the result y with
/// respect to each input, in reverse mode. Refuses numbers beyond 2^64: BND.C5.
std::vector<Approximated> computed_derivatives(const Tape& tape, const std::vector<ComputedStep>& steps, Recorded y);

}  // namespace attest
