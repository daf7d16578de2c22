#pragma once
/// Random decoder blocks, small enough for every arithmetic.

#include "attest/definitions/decoder_slots.hpp"
#include "support/property.hpp"
#include "support/states.hpp"

namespace attest {

/// Small extents, each another number.
constexpr BlockExtents small_extents{3, 4, 5, 6};

template <BlockExtents N>
using TokensOf = std::array<std::size_t, N.S>;

/// A block whose entries are numbers in -1 .. 1, 2^-8 apart, drawn from a seed: values of every format from f16 on.
template <class T, BlockExtents N>
DecoderBlock<T, N> block_of(std::uint64_t seed) {
  DecoderBlock<T, N> w;
  std::uint64_t n = 0;
  for (const TrainedSlot<T>& slot : trained_slots(w)) {
    for (T& entry : slot.entries) entry = lift<T>(std::floor(512 * unit_uniform_at(seed, n++) - 256) / 256);
  }
  return w;
}

/// Tokens of the vocabulary; often one of them several times.
template <BlockExtents N>
TokensOf<N> any_tokens() {
  TokensOf<N> tokens;
  for (std::size_t& token : tokens) token = *between<std::size_t>(0, N.V);
  return tokens;
}

/// Whether two fixed matrices have the same bits, in the first so many rows.
template <class T, std::size_t R, std::size_t C>
bool same_rows(const Real<T, R, C>& a, const Real<T, R, C>& b, std::size_t count = R) {
  return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(count * C), b.begin(),
                    [](const T& x, const T& y) { return same_bits(x, y); });
}

/// <a, b> of two lists of slots.
template <class T, class Slots>
T inner_product(const Slots& a, const Slots& b) {
  T total = T(0);
  for (std::size_t n = 0; n < a.size(); ++n) {
    for (std::size_t e = 0; e < a[n].entries.size(); ++e) total = total + a[n].entries[e] * b[n].entries[e];
  }
  return total;
}

}  // namespace attest
