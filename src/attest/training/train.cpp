#include "attest/training/train.hpp"

namespace attest {

std::uint64_t slot_seed(std::uint64_t seed, std::uint64_t n) {
  return std::uint64_t(random_word(seed, 2 * n)) << 32 | random_word(seed, 2 * n + 1);
}

ATTEST_TRAIN()

}  // namespace attest
