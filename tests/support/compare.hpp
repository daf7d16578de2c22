#pragma once
/// What "equal" means in a test: the same bits, or enclosures that meet.

#include <bit>
#include <cstdint>

#include "attest/definitions/attention.hpp"

namespace attest {

/// Bits carried by the enclosures of a property; what is left of them after a few operations is far beyond any mistake.
constexpr int property_bits = 160;

inline bool same_bits(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }
inline bool same_bits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }
template <Format F>
bool same_bits(Rounded<F> a, Rounded<F> b) {
  return same_bits(a.value, b.value);
}

template <class T>
bool same_bits(const Vector<T>& a, const Vector<T>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](T x, T y) { return same_bits(x, y); });
}

template <class T>
bool same_bits(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same_bits(*a, *b));
}

/// The same result: which keys are visible, their logits and weights, log-sum-exp and output.
template <class T>
bool same_bits(const AttendedRow<T>& a, const AttendedRow<T>& b) {
  return a.keys == b.keys && same_bits(a.logits, b.logits) && same_bits(a.weights, b.weights) &&
         same_bits(a.lse, b.lse) && same_bits(a.output, b.output);
}

inline bool meet(const Vector<Enclosure>& a, const Vector<Enclosure>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const Enclosure& x, const Enclosure& y) { return meet(x, y); });
}

inline bool meet(const std::optional<Enclosure>& a, const std::optional<Enclosure>& b) {
  return a.has_value() == b.has_value() && (!a || meet(*a, *b));
}

/// So narrow that meeting it means something: half of the bits are left.
inline bool is_narrow(const Enclosure& x) {
  return upper_end(x) - lower_end(x) <= Point(std::ldexp(1.0, -property_bits / 2)) * (1 + abs(upper_end(x)));
}

inline bool is_narrow(const Vector<Enclosure>& v) {
  return std::all_of(v.begin(), v.end(), [](const Enclosure& x) { return is_narrow(x); });
}

/// Whether a real known by an enclosure lies within a bound of a number. Errs towards yes by the enclosure's width.
inline bool within(double answer, const Enclosure& exact, const Enclosure& bound) {
  return lower_end(absolute(Enclosure(Enclosure(answer) - exact))) <= upper_end(bound);
}

}  // namespace attest
