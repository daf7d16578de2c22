/// Chapter 12: the examples.

#include "attest/definitions/decoder_block.hpp"

#include "attest/gradients/decoder_block_gradient.hpp"
#include "support/by_hand.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

constexpr BlockExtents two{2, 2, 2, 2};
using Square = Real<Enclosure, 2, 2>;
using Pair = RealVector<Enclosure, 2>;

EXAMPLE(DEC_E1, embedding_relu_and_gelu) {
  const PrecisionScope scope(property_bits);
  const Matrix<double> table = {{1, 2}, {3, 4}, {5, 6}};
  const std::array<std::size_t, 3> tokens = {2, 0, 2};
  EXPECT_EQ(embedding(table, Row<std::size_t>(tokens)), (Matrix<double>{{5, 6}, {1, 2}, {5, 6}}));
  EXPECT_EQ(embedding_gradient(Row<std::size_t>(tokens), 3, Matrix<double>{{1, 2}, {3, 4}, {10, 20}}),
            (Matrix<double>{{3, 4}, {0, 0}, {11, 22}}));
  expect_is(relu(Enclosure(-2)), 0);
  expect_is(relu(Enclosure(2)), 2);
  expect_is(gelu(Enclosure(0)), 0);
  expect_prints(gelu(Enclosure(1)), 0.8411919906082768);
  expect_prints(gelu(Enclosure(-1)), -0.1588080093917233);
}

/// The block of DEC.E2.
DecoderBlock<Enclosure, two> block_by_hand() {
  const Square identity = {{1, 0}, {0, 1}};
  const Pair ones = {1, 1}, zeros = {0, 0};
  const LayerNorm<Enclosure, 2> norm{ones, zeros, Enclosure(0)};
  const Enclosure a = ln(3) / (2 * sqrt(Enclosure(2)));
  return {Square{{3, 1}, {0, 2}},
          norm,
          {Square{{a, 0}, {0, a}}, zeros},
          {identity, zeros},
          {identity, zeros},
          {identity, zeros},
          norm,
          {identity, zeros},
          {Square{{1, 0}, {0, 2}}, Pair{0, 1}},
          {identity, Pair{1, -1}}};
}

template <std::size_t R, std::size_t C>
void expect_rows(const Real<Enclosure, R, C>& m, std::initializer_list<Enclosure> closed_forms) {
  expect_are(tabulate(m.size(), [&](std::size_t n) -> Enclosure { return m.data()[n]; }), closed_forms);
}

EXAMPLE(DEC_E2, a_block_of_two_channels) {
  const PrecisionScope scope(property_bits);
  const Enclosure half = ratio(1, 2);
  const BlockStages<Enclosure, two> s = decoder_block(block_by_hand(), {0, 1});
  expect_rows(s.x, {3, 1, 0, 2});
  expect_rows(s.n, {1, -1, -1, 1});
  expect_rows(s.a, {1, -1, -half, half});
  expect_rows(s.x1, {4, 0, -half, 5 * half});
  expect_rows(s.n1, {1, -1, -1, 1});
  expect_rows(s.r, {1, 0, 0, 1});
  expect_rows(s.x2, {5, 1, -half, 11 * half});
  expect_rows(s.logits, {6, 0, half, 9 * half});
}

}  // namespace
}  // namespace attest
