#include "attest/gradients/softmax_gradient.hpp"

namespace attest {

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_SOFTMAX_GRADIENT, )

}  // namespace attest
