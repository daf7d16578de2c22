#include "attest/definitions/projections.hpp"

namespace attest {

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_PROJECTIONS, )

}  // namespace attest
