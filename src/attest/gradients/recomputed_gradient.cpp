#include "attest/gradients/recomputed_gradient.hpp"

namespace attest {

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_RECOMPUTED_GRADIENT, )

}  // namespace attest
