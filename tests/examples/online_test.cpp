/// Chapter 15: the examples.

#include "attest/online/online_softmax.hpp"
#include "support/by_hand.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

/// A block with one channel. The shift of an enclosure is a point close to the logarithm that the example names, so the
/// sums are moved to that logarithm first.
void expect_block(const Block<Enclosure>& block, const Enclosure& shift, int sum_numerator, int sum_denominator,
                  int weighted) {
  const Enclosure factor = exp(Enclosure(*block.shift - shift));
  expect_is(block.shift, shift);
  expect_is(factor * block.sum, ratio(sum_numerator, sum_denominator));
  expect_is(factor * block.weighted(0), Enclosure(weighted));
}

EXAMPLE(ONL_E1, two_blocks_by_hand) {
  const PrecisionScope scope(property_bits);
  const Vector<Enclosure> logits = vector_of({Enclosure(0), ln(2), ln(3)});
  const Matrix<Enclosure> values = {{Enclosure(6)}, {Enclosure(3)}, {Enclosure(2)}};
  const Block<Enclosure> first = stream(row_of(logits).first(2), values, {2});
  const Block<Enclosure> second = block_of(row_of(logits).last(1), {{Enclosure(2)}});
  expect_block(first, ln(2), 3, 2, 6);
  expect_block(second, ln(3), 1, 1, 2);
  expect_block(merge(first, second), ln(3), 2, 1, 6);
  for (const Block<Enclosure>& row :
       {merge(first, second), stream(row_of(logits), values, {2, 1}), block_of(row_of(logits), values)}) {
    expect_is(finish(row).output(0), Enclosure(3));
    expect_is(finish(row).lse, ln(6));
    expect_prints(finish(row).lse, 1.7917594692280550);
  }
}

}  // namespace
}  // namespace attest
