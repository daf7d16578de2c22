#include "attest/certify/rounding.hpp"

#include "attest/scalar/error.hpp"

namespace attest {

namespace {

/// f8e4m3 overflows to NaN; seen from the largest number, the NaN of its sign is the next value.
bool overflow_boundary(Format format, double number, double other) {
  return std::isnan(other) && number == std::copysign(parameters(format).largest, other);
}

}  // namespace

Candidates round_enclosure(Format format, const Enclosure& x, Overflow rule) {
  const Point lower = lower_end(x);
  const Point upper = upper_end(x);
  if (isnan(lower) || isnan(upper)) throw CannotAnswer("ENC.D1: an enclosure has lost its end points");
  return {round_to(format, lower, rule), round_to(format, upper, rule)};
}

Candidates round_value(Format format, const Value& x, Overflow rule) {
  if (const auto* enclosure = std::get_if<Enclosure>(&x)) return round_enclosure(format, *enclosure, rule);
  const double rounded = round_to(format, std::get<double>(x), rule);
  return {rounded, rounded};
}

Status status_of(Format format, const Candidates& element) {
  const auto [lower, upper] = element;
  if (std::isnan(lower) && std::isnan(upper)) {  // two signs: one end overflowed each way
    return std::signbit(lower) == std::signbit(upper) ? Status::decided : Status::unresolved;
  }
  if (std::isnan(lower) || std::isnan(upper)) {
    const bool edge = overflow_boundary(format, lower, upper) || overflow_boundary(format, upper, lower);
    return edge ? Status::undecided : Status::unresolved;
  }
  const std::uint64_t steps = steps_between(format, lower, upper);
  return steps == 0 ? Status::decided : steps == 1 ? Status::undecided : Status::unresolved;
}

}  // namespace attest
