#include "attest/gradients/positions_gradient.hpp"

namespace attest {

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_POSITIONS_GRADIENT, )

}  // namespace attest
