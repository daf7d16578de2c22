#pragma once
/// Chapter 14 (TRN): the loss: how surprised the logits are by what came next.

#include "attest/definitions/decoder_parts.hpp"

namespace attest {

/// Refuses targets that are not one for each row of logits, and targets beyond their columns: TRN.C1, DEC.C1.
void require_targets(std::size_t rows, std::size_t vocabulary, Row<std::size_t> targets);

/// TRN.D1  cross_entropy(l, t) = ln sum_c exp(l_c) - l_t: minus the logarithm of the weight that softmax gives t.
template <Scalar T>
T cross_entropy(Row<T> logits, std::size_t target) {
  return *log_sum_exp(logits) - logits[target];
}

/// TRN.D2  mean_cross_entropy(L, t) = (1/S) sum_i cross_entropy(L_i, t_i)
template <Scalar T>
T mean_cross_entropy(const Matrix<T>& logits, Row<std::size_t> targets) {
  require_targets(logits.shape(0), logits.shape(1), targets);
  return sum_over<T>(targets.size(), [&](std::size_t i) { return cross_entropy(row_of(logits, i), targets[i]); }) /
         T(static_cast<int>(targets.size()));
}

/// TRN.D3  mean_cross_entropy_gradient(L, t)(i, c) = (softmax(L_i)_c - [c = t_i]) / S
template <Scalar T>
Matrix<T> mean_cross_entropy_gradient(const Matrix<T>& logits, Row<std::size_t> targets) {
  require_targets(logits.shape(0), logits.shape(1), targets);
  Matrix<T> g = logits;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Vector<T> weights = softmax(row_of(logits, i));
    for (std::size_t c = 0; c < weights.size(); ++c) {
      g(i, c) = (weights(c) - T(c == targets[i] ? 1 : 0)) / T(static_cast<int>(targets.size()));
    }
  }
  return g;
}

/// TRN.D4  predictions(L)_i = the column of the greatest logit of row i, the first of equals.
std::vector<std::size_t> predictions(const Matrix<double>& logits);

#define ATTEST_LOSS(KEYWORD, T)                                              \
  KEYWORD template T mean_cross_entropy(const Matrix<T>&, Row<std::size_t>); \
  KEYWORD template Matrix<T> mean_cross_entropy_gradient(const Matrix<T>&, Row<std::size_t>);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_LOSS, extern)

}  // namespace attest
