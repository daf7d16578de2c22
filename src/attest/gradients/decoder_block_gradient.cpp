#include "attest/gradients/decoder_block_gradient.hpp"

namespace attest {

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_DECODER_BLOCK_GRADIENT, )

}  // namespace attest
