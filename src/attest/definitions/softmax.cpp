#include "attest/definitions/softmax.hpp"

namespace attest {

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_SOFTMAX, )

}  // namespace attest
