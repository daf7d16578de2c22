#pragma once
/// Chapter 13 (GRD): the gradients of chapter 04. A function `f_gradient` takes what f was given, or what it made of
/// it, and a cotangent g of f's result, and returns the cotangent of each input: g times the Jacobian of f.

#include "attest/definitions/softmax.hpp"

namespace attest {

/// GRD.D1  centre(w, g) = sum_k w_k g_k: the cotangent of a weight, averaged over the weights.
template <Scalar T>
T centre(Row<T> weights, Row<T> g) {
  return dot(weights, g);
}

/// GRD.D1  softmax_gradient(w, g)_j = w_j (g_j - sum_k w_k g_k), from the weights w = softmax(s). A hidden key has
/// weight 0 and gradient 0; with a sink the w_k add up to less than 1 and the formula is the same.
template <Scalar T>
Vector<T> softmax_gradient(Row<T> weights, Row<T> g) {
  const T mean = centre(weights, g);
  return tabulate(weights.size(), [&](std::size_t j) -> T { return weights[j] * (g[j] - mean); });
}

/// GRD.D2  masked_softmax_gradient(w, visible, g): D1 of the gathered visible keys, scattered back. What g holds at a
/// hidden key is not read.
template <Scalar T>
Vector<T> masked_softmax_gradient(Row<T> weights, Row<bool> visible, Row<T> g) {
  const std::vector<std::size_t> keys = visible_keys(visible);
  const Vector<T> gathered = gather(weights, keys);
  return scatter(softmax_gradient(row_of(gathered), row_of(gather(g, keys))), keys, weights.size());
}

/// GRD.D3  sink_gradient(w_a, w, g) = -w_a sum_k w_k g_k: the sink has no value, so its own g is 0.
template <Scalar T>
T sink_gradient(const T& sink_weight, Row<T> weights, Row<T> g) {
  return -(sink_weight * centre(weights, g));
}

/// GRD.D4  log_sum_exp_gradient(w, g)_j = w_j g, divided by ln 2 in base 2. The sink, where the log-sum-exp counts it,
/// is one more weight.
template <Scalar T>
T log_sum_exp_gradient(const T& weight, const T& g, LseBase base) {
  return lse_in_base(T(weight * g), base);
}

#define ATTEST_SOFTMAX_GRADIENT(KEYWORD, T)                                      \
  KEYWORD template Vector<T> softmax_gradient(Row<T>, Row<T>);                   \
  KEYWORD template Vector<T> masked_softmax_gradient(Row<T>, Row<bool>, Row<T>); \
  KEYWORD template T sink_gradient(const T&, Row<T>, Row<T>);                    \
  KEYWORD template T log_sum_exp_gradient(const T&, const T&, LseBase);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_SOFTMAX_GRADIENT, extern)

}  // namespace attest
