#include "attest/definitions/dropout.hpp"

#include <cmath>

namespace attest {

namespace {

/// The two multipliers, and what each round adds to the key (Salmon et al. 2011).
constexpr std::uint64_t multiplier[] = {0xD2511F53, 0xCD9E8D57};
constexpr std::uint32_t key_step[] = {0x9E3779B9, 0xBB67AE85};
constexpr int rounds = 10;

std::uint32_t low_half(std::uint64_t x) { return static_cast<std::uint32_t>(x); }
std::uint32_t high_half(std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); }

PhiloxCounter philox_round(const PhiloxCounter& c, const PhiloxKey& key) {
  const std::uint64_t even = multiplier[0] * c[0], odd = multiplier[1] * c[2];
  return {high_half(odd) ^ c[1] ^ key[0], low_half(odd), high_half(even) ^ c[3] ^ key[1], low_half(even)};
}

}  // namespace

PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < rounds; ++round) {
    counter = philox_round(counter, key);
    key = {key[0] + key_step[0], key[1] + key_step[1]};
  }
  return counter;
}

std::uint32_t random_word(std::uint64_t seed, std::uint64_t n) {
  const std::uint64_t block = n / 4;
  return philox({low_half(block), high_half(block), 0, 0}, {low_half(seed), high_half(seed)})[n % 4];
}

bool is_kept(std::uint32_t word, double probability) { return std::ldexp(word, -32) >= probability; }

void require_probability(double probability) {
  require(probability >= 0 && probability <= 1, "DRP.C1", "probability: a number in 0..1, got {}", probability);
}

Tensor<bool> kept_mask(std::uint64_t seed, double probability, const Shape& shape) {
  require_probability(probability);
  element_count(shape);
  Tensor<bool> kept = Tensor<bool>::from_shape(shape);
  for (std::size_t n = 0; n < kept.size(); ++n) kept.data()[n] = is_kept(random_word(seed, n), probability);
  return kept;
}

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_DROPOUT, )

}  // namespace attest
