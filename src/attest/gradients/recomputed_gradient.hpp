#pragma once
/// Chapter 13 (GRD): the backward pass that keeps no weights. It recomputes each of them from its logit and the
/// log-sum-exp of the row, and takes the centre of GRD.D1 from the output (Dao et al. 2022, appendix B.4; Dao 2023,
/// algorithm 2). What a kernel computes key block by key block is this, at each key by itself.

#include "attest/gradients/attention_gradient.hpp"

namespace attest {

/// GRD.D22  recomputed_centre(g, o) = sum_c g_c o_c, which equals the sum_k w_k g_k of GRD.D1 (GRD.P9).
template <Scalar T>
T recomputed_centre(Row<T> g, Row<T> output) {
  return dot(g, output);
}

/// GRD.D22  recomputed_gradient(l, L, g_w, D) = exp(l - L) (g_w - D): what one logit l receives through the weights. L
/// is the natural log-sum-exp of the row, its sink counted.
template <Scalar T>
T recomputed_gradient(const T& logit, const T& lse, const T& of_weight, const T& centre) {
  return exp(T(logit - lse)) * (of_weight - centre);
}

#define ATTEST_RECOMPUTED_GRADIENT(KEYWORD, T)          \
  KEYWORD template T recomputed_centre(Row<T>, Row<T>); \
  KEYWORD template T recomputed_gradient(const T&, const T&, const T&, const T&);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_RECOMPUTED_GRADIENT, extern)

}  // namespace attest
