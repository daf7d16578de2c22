#pragma once
/// Chapter 12 (DEC): the decoder block backwards, line by line in the opposite order. Every function `f_gradient` takes
/// what f was given and a cotangent g of its result. The parts of earlier chapters are backwards in chapter 13.

#include "attest/definitions/decoder_block.hpp"
#include "attest/gradients/layer_gradient.hpp"
#include "attest/gradients/norms_gradient.hpp"

namespace attest {

/// DEC.D17  embedding_gradient(tokens, V, g)(t, c) = sum of g(i, c) over the places i at which token t stands.
template <Scalar T>
Matrix<T> embedding_gradient(Row<std::size_t> tokens, std::size_t vocabulary, const Matrix<T>& g) {
  require_tokens(tokens, vocabulary);
  Matrix<T> table = tabulate(vocabulary, g.shape(1), [](std::size_t, std::size_t) { return T(0); });
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    for (std::size_t c = 0; c < g.shape(1); ++c) table(tokens[i], c) = table(tokens[i], c) + g(i, c);
  }
  return table;
}

/// DEC.D18  relu_gradient(x, g) = g [x > 0]
template <Scalar T>
T relu_gradient(const T& x, const T& g) {
  return where_positive(x, g);
}

/// DEC.D19  gelu_gradient(x, g) = g (1 + t + x (1 - t^2) a (1 + 3 b x^2)) / 2 with t = tanh(a (x + b x^3)).
template <Scalar T>
T gelu_gradient(const T& x, const T& g) {
  const T a = lift<T>(gelu_slope), b = lift<T>(gelu_cubic);
  const T t = tanh(T(a * (x + b * x * x * x)));
  return g * (T(1) + t + x * (T(1) - t * t) * a * (T(1) + T(3) * b * x * x)) / T(2);
}

/// What normed rows make of their cotangents: a cotangent for each row, and for the parameters that the rows share.
template <class T>
struct NormedGradient {
  Matrix<T> x;
  Vector<T> gamma, beta;
};

/// DEC.D20  normed_rows_gradient(X, g): GRD.D19 of each row; those of gamma and beta are added up.
template <Scalar T>
NormedGradient<T> normed_rows_gradient(const Matrix<T>& x, const Vector<T>& gamma, const Vector<T>& beta,
                                       const T& epsilon, const Matrix<T>& g) {
  const Vector<T> zeros = tabulate(x.shape(1), [](std::size_t) { return T(0); });
  NormedGradient<T> result{x, zeros, zeros};
  for (std::size_t i = 0; i < x.shape(0); ++i) {
    const NormGradient<T> row =
        layer_norm_gradient<T>(row_of(x, i), row_of(gamma), row_of(beta), epsilon, row_of(g, i));
    for (std::size_t c = 0; c < x.shape(1); ++c) {
      result.x(i, c) = row.row(c);
      result.gamma(c) = result.gamma(c) + row.gamma(c);
      result.beta(c) = result.beta(c) + row.beta(c);
    }
  }
  return result;
}

/// DEC.D9 backwards: DEC.D17.
template <std::size_t V, Scalar T, std::size_t S, std::size_t E>
Real<T, V, E> embedded_gradient(const std::array<std::size_t, S>& tokens, const Real<T, S, E>& g) {
  return embedding_gradient<T>(tokens, V, g);
}

/// DEC.D10 backwards: DEC.D20. The first of the pair belongs to the parameters, the second to x.
template <Scalar T, std::size_t S, std::size_t E>
std::pair<LayerNorm<T, E>, Real<T, S, E>> normed_gradient(const LayerNorm<T, E>& norm, const Real<T, S, E>& x,
                                                          const Real<T, S, E>& g) {
  const NormedGradient<T> d = normed_rows_gradient<T>(x, norm.gamma, norm.beta, norm.epsilon, g);
  return {{d.gamma, d.beta, T(0)}, d.x};
}

/// DEC.D11 backwards: GRD.D13.
template <Scalar T, std::size_t S, std::size_t In, std::size_t Out>
std::pair<Linear<T, In, Out>, Real<T, S, In>> linear_gradient(const Linear<T, In, Out>& map, const Real<T, S, In>& x,
                                                              const Real<T, S, Out>& g) {
  const AffineGradient<T> d = affine_gradient<T>(x, map.weight, true, g);
  return {{d.weight, *d.bias}, d.x};
}

/// DEC.D12 backwards: GRD.D10, in the order of queries, keys and values.
template <Scalar T, std::size_t S, std::size_t E>
std::array<Real<T, S, E>, 3> attend_causally_gradient(const Real<T, S, E>& q, const Real<T, S, E>& k,
                                                      const Real<T, S, E>& v, const Real<T, S, E>& g) {
  const HeadGradient<T> d = head_gradient<T>(causal_head<T>(q, k, v), g, std::nullopt);
  return {d.queries, d.keys, d.values};
}

/// DEC.D13 backwards: DEC.D18 at every entry.
template <Scalar T, std::size_t S, std::size_t H>
Real<T, S, H> rectified_gradient(const Real<T, S, H>& x, const Real<T, S, H>& g) {
  return tabulate(S, H, [&](std::size_t i, std::size_t c) -> T { return relu_gradient<T>(x(i, c), g(i, c)); });
}

/// DEC.D21  decoder_block_gradient(w, tokens, stages, g): the cotangent of every parameter, from one of the logits.
/// What feeds two lines gets the sum of what they pass back.
template <Scalar T, BlockExtents N>
DecoderBlock<T, N> decoder_block_gradient(const DecoderBlock<T, N>& w, const std::array<std::size_t, N.S>& tokens,
                                          const BlockStages<T, N>& s, const Real<T, N.S, N.V>& g) {
  const auto [unembed, x2] = linear_gradient(w.unembed, s.x2, g);
  const auto [ff2, r] = linear_gradient(w.ff2, s.r, x2);
  const auto [ff1, n1] = linear_gradient(w.ff1, s.n1, rectified_gradient(s.f, r));
  const auto [norm2, through_norm2] = normed_gradient(w.norm2, s.x1, n1);
  const auto x1 = plus(x2, through_norm2);
  const auto [wo, a] = linear_gradient(w.wo, s.a, x1);
  const auto [q, k, v] = attend_causally_gradient(s.q, s.k, s.v, a);
  const auto [wq, n_of_q] = linear_gradient(w.wq, s.n, q);
  const auto [wk, n_of_k] = linear_gradient(w.wk, s.n, k);
  const auto [wv, n_of_v] = linear_gradient(w.wv, s.n, v);
  const auto [norm1, through_norm1] = normed_gradient(w.norm1, s.x, plus(plus(n_of_q, n_of_k), n_of_v));
  const auto x = plus(x1, through_norm1);
  return {embedded_gradient<N.V>(tokens, x), norm1, wq, wk, wv, wo, norm2, ff1, ff2, unembed};
}

#define ATTEST_DECODER_BLOCK_GRADIENT(KEYWORD, T)                                                               \
  KEYWORD template Matrix<T> embedding_gradient(Row<std::size_t>, std::size_t, const Matrix<T>&);               \
  KEYWORD template T gelu_gradient(const T&, const T&);                                                         \
  KEYWORD template NormedGradient<T> normed_rows_gradient(const Matrix<T>&, const Vector<T>&, const Vector<T>&, \
                                                          const T&, const Matrix<T>&);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_DECODER_BLOCK_GRADIENT, extern)

}  // namespace attest
