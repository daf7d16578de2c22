#pragma once
/// Chapter 15 (ONL): the layer in its streamed form, which never holds a whole row of scores. It is what fused kernels
/// compute, for layers without biases and without dropout.

#include "attest/definitions/layer.hpp"
#include "attest/online/online_softmax.hpp"

namespace attest {

/// ONL.D6  streamed_row(head, i, n): the visible keys of row i in blocks of n, merged from the left. A sink is a block
/// of its own: its score, with a value of zeros.
template <Scalar T>
Vector<T> streamed_row(const Head<T>& head, std::size_t i, std::size_t n) {
  const std::vector<std::size_t> keys = visible_keys(row_of(head.visible, i));
  Block<T> running = empty_block<T>(head.values.shape(1));
  if (head.sink) running = {*head.sink, T(1), running.weighted};
  for (std::size_t first = 0; first < keys.size(); first += n) {
    const std::size_t size = std::min(n, keys.size() - first);
    const Vector<T> logits = tabulate(size, [&](std::size_t j) -> T {
      return logit(head, i, keys[first + j], capped_score(head, i, keys[first + j]));
    });
    const Matrix<T> values = tabulate(
        size, head.values.shape(1), [&](std::size_t j, std::size_t c) -> T { return head.values(keys[first + j], c); });
    running = merge(running, block_of(row_of(logits), values));
  }
  return finish(running).output;
}

/// ONL.D7  streamed_layer(problem, n): the outputs of a layer, row b * Sq + i, every head by D6. Refuses a layer with
/// biases or with dropout, and n = 0: ONL.C2.
template <Scalar T>
std::vector<Vector<T>> streamed_layer(const LayerProblem& problem, std::size_t n);

#define ATTEST_STREAMED(KEYWORD, T)                                                  \
  KEYWORD template Vector<T> streamed_row(const Head<T>&, std::size_t, std::size_t); \
  KEYWORD template std::vector<Vector<T>> streamed_layer(const LayerProblem&, std::size_t);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_STREAMED, extern)

}  // namespace attest
