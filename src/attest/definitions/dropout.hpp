#pragma once
/// Chapter 08 (DRP): from a seed to a kept mask, by a counter-based generator, and what the mask does to weights.
/// Chance is always an argument: a word is a function of a seed and an index, and no generator has a state.

#include <array>
#include <cstdint>

#include "attest/definitions/attention.hpp"

namespace attest {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// DRP.D1  philox(counter, key): Philox4x32-10, ten rounds (Salmon et al. 2011).
PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key);

/// DRP.D2  random_word(seed, n) = word n mod 4 of the block philox((floor(n / 4), 0), seed), low halves first.
std::uint32_t random_word(std::uint64_t seed, std::uint64_t n);

/// DRP.D3  is_kept(word, p) = (word / 2^32 >= p). Both sides are binary64 numbers: nothing is rounded.
bool is_kept(std::uint32_t word, double probability);

/// DRP.D4  kept_mask(seed, p, shape)_n = is_kept(random_word(seed, n), p), n counting in row-major order. Refuses a
/// probability outside 0..1: DRP.C1.
Tensor<bool> kept_mask(std::uint64_t seed, double probability, const Shape& shape);

/// Refuses a number that is no probability: DRP.C1.
void require_probability(double probability);

/// DRP.D5  dropout(w, r, p, training) = kept_weight(w, r, p) entry by entry in training, and w outside it. When p = 1
/// no entry is kept. Refuses a kept mask of another shape: DRP.C2.
template <Scalar T>
Tensor<T> dropout(const Tensor<T>& weights, const Tensor<bool>& kept, double probability, bool training) {
  require_probability(probability);
  const Shape due(weights.shape().begin(), weights.shape().end()), got(kept.shape().begin(), kept.shape().end());
  require(got == due, "DRP.C2", "kept: shape {}, got {}", to_string(due), to_string(got));
  if (!training) return weights;
  const T p = lift<T>(probability);
  Tensor<T> result = weights;
  for (std::size_t n = 0; n < result.size(); ++n) {
    result.data()[n] = kept_weight(weights.data()[n], kept.data()[n] && probability != 1, p);
  }
  return result;
}

#define ATTEST_DROPOUT(KEYWORD, T) \
  KEYWORD template Tensor<T> dropout(const Tensor<T>&, const Tensor<bool>&, double, bool);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_DROPOUT, extern)

}  // namespace attest
