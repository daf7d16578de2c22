#include "attest/online/online_softmax.hpp"

namespace attest {

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_ONLINE, )

}  // namespace attest
