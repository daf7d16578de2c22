#include "attest/gradients/norms_gradient.hpp"

namespace attest {

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_NORMS_GRADIENT, )

}  // namespace attest
