#include "attest/definitions/positions.hpp"

namespace attest {

void require_base(double base) {
  require(std::isfinite(base) && base > 0, "POS.C6", "base: finite and above 0, got {}", base);
}

void require_even(std::size_t rotated) {
  require(rotated % 2 == 0, "POS.C1", "rotated channels: an even number, got {}", rotated);
}

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_POSITIONS, )

}  // namespace attest
