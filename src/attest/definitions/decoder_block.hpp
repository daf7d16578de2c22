#pragma once
/// Chapter 12 (DEC): a decoder block, equation by equation, from tokens and mask to logits. The shapes of the paper are
/// types: a product of mismatched shapes does not compile. Each function forwards to its definition with shapes at run
/// time; all arithmetic is there.

#include "attest/definitions/decoder_parts.hpp"
#include "attest/definitions/typed_attention.hpp"

namespace attest {

/// How large a block is: S tokens in a row, E channels of a token, H channels of the hidden layer, V tokens to tell
/// apart.
struct BlockExtents {
  std::size_t S = 8, E = 16, H = 32, V = 4;
};

/// A linear map R^In -> R^Out with its bias.
template <class T, std::size_t In, std::size_t Out>
struct Linear {
  Real<T, In, Out> weight;
  RealVector<T, Out> bias;
};

/// A layer norm of E channels. Epsilon is fixed, the rest is learned.
template <class T, std::size_t E>
struct LayerNorm {
  RealVector<T, E> gamma, beta;
  T epsilon = lift<T>(1e-5);
};

/// DEC.D8  The parameters of a block: an ordinary record.
template <class T, BlockExtents N = BlockExtents{}>
struct DecoderBlock {
  Real<T, N.V, N.E> embed;
  LayerNorm<T, N.E> norm1;
  Linear<T, N.E, N.E> wq, wk, wv, wo;
  LayerNorm<T, N.E> norm2;
  Linear<T, N.E, N.H> ff1;
  Linear<T, N.H, N.E> ff2;
  Linear<T, N.E, N.V> unembed;
};

/// DEC.D9  embedded(table, tokens)_i = row tokens_i of the table
template <class T, std::size_t S, std::size_t V, std::size_t E>
Real<T, S, E> embedded(const Real<T, V, E>& table, const std::array<std::size_t, S>& tokens) {
  return embedding<T>(table, tokens);
}

/// DEC.D10  normed(x)_i = (x_i - mean) / sqrt(variance + epsilon) * gamma + beta
template <Scalar T, std::size_t S, std::size_t E>
Real<T, S, E> normed(const LayerNorm<T, E>& norm, const Real<T, S, E>& x) {
  return normed_rows<T>(x, norm.gamma, norm.beta, norm.epsilon);
}

/// DEC.D11  linear(x) = x W + b
template <Scalar T, std::size_t S, std::size_t In, std::size_t Out>
Real<T, S, Out> linear(const Linear<T, In, Out>& map, const Real<T, S, In>& x) {
  return affine<T>(x, map.weight, Vector<T>(map.bias));
}

/// DEC.D12  attend_causally(Q, K, V)_i = sum_(j <= i) softmax_(j <= i)(q_i . k_j / sqrt(E)) v_j
template <Scalar T, std::size_t S, std::size_t E>
Real<T, S, E> attend_causally(const Real<T, S, E>& q, const Real<T, S, E>& k, const Real<T, S, E>& v) {
  return attended_rows<T>(causal_head<T>(q, k, v));
}

/// DEC.D13  rectified(x) = max(x, 0)
template <Scalar T, std::size_t S, std::size_t H>
Real<T, S, H> rectified(const Real<T, S, H>& x) {
  return each_entry<T>(x, relu<T>);
}

/// DEC.D14  plus(x, y) = x + y
template <Scalar T, std::size_t S, std::size_t E>
Real<T, S, E> plus(const Real<T, S, E>& x, const Real<T, S, E>& y) {
  return residual<T>(x, y);
}

/// What a block makes of its tokens, line by line: x are embeddings, n their norms, q, k and v queries, keys and
/// values, a what attention makes of them, x1 the sum, n1 its norms, f and r the hidden layer before and after relu, x2
/// the sum.
template <class T, BlockExtents N = BlockExtents{}>
struct BlockStages {
  Real<T, N.S, N.E> x, n, q, k, v, a, x1, n1;
  Real<T, N.S, N.H> f, r;
  Real<T, N.S, N.E> x2;
  Real<T, N.S, N.V> logits;
};

/// DEC.D15  decoder_block(w, tokens): the stages of the block, of which the logits are the last.
template <Scalar T, BlockExtents N>
BlockStages<T, N> decoder_block(const DecoderBlock<T, N>& w, const std::array<std::size_t, N.S>& tokens) {
  BlockStages<T, N> s;
  s.x = embedded(w.embed, tokens);
  s.n = normed(w.norm1, s.x);
  s.q = linear(w.wq, s.n), s.k = linear(w.wk, s.n), s.v = linear(w.wv, s.n);
  s.a = attend_causally(s.q, s.k, s.v);
  s.x1 = plus(s.x, linear(w.wo, s.a));
  s.n1 = normed(w.norm2, s.x1);
  s.f = linear(w.ff1, s.n1);
  s.r = rectified(s.f);
  s.x2 = plus(s.x1, linear(w.ff2, s.r));
  s.logits = linear(w.unembed, s.x2);
  return s;
}

}  // namespace attest
