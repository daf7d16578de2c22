/// Chapter 12: what is refused, and in which words.

#include "attest/definitions/decoder_block.hpp"

#include "attest/gradients/decoder_block_gradient.hpp"
#include "support/refusal.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

CONSTRAINT(DEC_C1, a_token_has_a_row_in_the_table) {
  const auto with = [](std::size_t token) {
    return refusal_of([&] { decoder_block(DecoderBlock<double>{}, {0, 1, 2, 3, 0, 1, 2, token}); });
  };
  EXPECT_EQ(with(4), "DEC.C1: tokens: each less than the 4 of the vocabulary, got 4");
  EXPECT_EQ(with(3), "");
  const std::array<std::size_t, 1> tokens = {7};
  EXPECT_EQ(refusal_of([&] {
              embedding_gradient(Row<std::size_t>(tokens), 3, Matrix<double>{{1, 2}});
            }),
            "DEC.C1: tokens: each less than the 3 of the vocabulary, got 7");
}

}  // namespace
}  // namespace attest
