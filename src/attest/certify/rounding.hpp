#pragma once
/// Chapter 17 (ENC): from an enclosure to values of a format.

#include <variant>

#include "attest/scalar/format.hpp"

namespace attest {

/// A real number known by an enclosure, or the value (an infinity or NaN) that a rule gives.
using Value = std::variant<Enclosure, double>;

/// ENC.D1  A certified element: every correctly rounded answer lies between `lower` and `upper`, two values of the
/// format.
struct Candidates {
  double lower;
  double upper;
};

/// ENC.D1  round_enclosure([a, b]) = (round_to(a), round_to(b)), each end rounded once, straight from its own many
/// bits. Rounding is monotone (FMT.P3), so the rounding of every point of [a, b] lies between the two (ENC.P1). Throws
/// CannotAnswer if an end point is NaN: finite operands never make one.
Candidates round_enclosure(Format format, const Enclosure& x, Overflow rule);

/// What rounding leaves of a value: a rule's value is itself.
Candidates round_value(Format format, const Value& x, Overflow rule);

/// ENC.D3  decided: one value (both zeros are one). undecided: two neighbours. unresolved: more than that.
enum class Status { decided, undecided, unresolved };

Status status_of(Format format, const Candidates& element);

}  // namespace attest
