#include "attest/definitions/decoder_parts.hpp"

namespace attest {

void require_tokens(Row<std::size_t> tokens, std::size_t vocabulary) {
  for (const std::size_t token : tokens) {
    require(token < vocabulary, "DEC.C1", "tokens: each less than the {} of the vocabulary, got {}", vocabulary, token);
  }
}

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_DECODER_PARTS, )

}  // namespace attest
