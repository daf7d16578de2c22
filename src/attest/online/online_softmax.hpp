#pragma once
/// Chapter 15 (ONL): the streamed form. A block of keys is summed up by a triple; triples merge; merging the blocks of
/// any partition of a row gives the row (ONL.P4). Milakov and Gimelshein 2018 for the softmax, extended by the values.

#include <numeric>

#include "attest/definitions/attention.hpp"

namespace attest {

/// ONL.D1  Block: (c, sum e_j, sum e_j v_j) with e_j = exp(s_j - c). Without a shift it is the empty block, the
/// identity.
template <class T>
struct Block {
  std::optional<T> shift;
  T sum;
  Vector<T> weighted;
};

/// ONL.D1  the empty block over values of width c.
template <Scalar T>
Block<T> empty_block(std::size_t width) {
  return {std::nullopt, T(0), tabulate(width, [](std::size_t) { return T(0); })};
}

/// ONL.D2  block_of(s, V): the triple of the keys of a block.
template <Scalar T>
Block<T> block_of(Row<T> logits, const Matrix<T>& values) {
  require(logits.size() == values.shape(0), "ATT.C2", "keys and values need equal length, got {} and {}", logits.size(),
          values.shape(0));
  if (logits.empty()) return empty_block<T>(values.shape(1));
  const Exponentials<T> e = exponentials(logits);
  Vector<T> weighted = tabulate(values.shape(1), [&](std::size_t c) -> T {
    return sum_over<T>(logits.size(), [&](std::size_t j) -> T { return e.terms(j) * values(j, c); });
  });
  return {e.shift, e.total, std::move(weighted)};
}

/// ONL.D3  merge(a, b): both rescaled to a common shift c, exp(c_a - c) and exp(c_b - c), and added.
template <Scalar T>
Block<T> merge(const Block<T>& a, const Block<T>& b) {
  if (!a.shift) return b;
  if (!b.shift) return a;
  const T shifts[] = {*a.shift, *b.shift};
  const T shift = shift_of(Row<T>(shifts));
  const T scale_a = exp(T(*a.shift - shift));
  const T scale_b = exp(T(*b.shift - shift));
  return {shift, T(scale_a * a.sum + scale_b * b.sum), tabulate(a.weighted.size(), [&](std::size_t c) -> T {
            return scale_a * a.weighted(c) + scale_b * b.weighted(c);
          })};
}

/// ONL.D4  stream(s, V, sizes): the merge, from the left, of the blocks of a partition into consecutive sizes that add
/// up to the row (ONL.C1).
template <Scalar T>
Block<T> stream(Row<T> logits, const Matrix<T>& values, const std::vector<std::size_t>& sizes) {
  require(std::accumulate(sizes.begin(), sizes.end(), std::size_t(0)) == logits.size(), "ONL.C1",
          "the sizes of a partition add up to the {} keys of the row", logits.size());
  Block<T> running = empty_block<T>(values.shape(1));
  std::size_t first = 0;
  for (const std::size_t size : sizes) {
    const Matrix<T> part =
        tabulate(size, values.shape(1), [&](std::size_t j, std::size_t c) -> T { return values(first + j, c); });
    running = merge(running, block_of(logits.subspan(first, size), part));
    first += size;
  }
  return running;
}

/// ONL.D5  finish(block): output weighted / sum and LSE c + log sum; the empty block has output 0 and no LSE.
template <class T>
struct Finished {
  Vector<T> output;
  std::optional<T> lse;
};

/// ONL.D5
template <Scalar T>
Finished<T> finish(const Block<T>& block) {
  if (!block.shift) return {block.weighted, std::nullopt};
  return {tabulate(block.weighted.size(), [&](std::size_t c) -> T { return block.weighted(c) / block.sum; }),
          T(*block.shift + log(block.sum))};
}

#define ATTEST_ONLINE(KEYWORD, T)                                                              \
  KEYWORD template Block<T> block_of(Row<T>, const Matrix<T>&);                                \
  KEYWORD template Block<T> merge(const Block<T>&, const Block<T>&);                           \
  KEYWORD template Block<T> stream(Row<T>, const Matrix<T>&, const std::vector<std::size_t>&); \
  KEYWORD template Finished<T> finish(const Block<T>&);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_ONLINE, extern)

}  // namespace attest
