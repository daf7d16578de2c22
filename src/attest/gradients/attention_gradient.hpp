#pragma once
/// Chapter 13 (GRD): the gradients of chapter 05, stage by stage, backwards: from a cotangent of a row's output and one
/// of its log-sum-exp to weights, logits, scores, and from there to queries, keys, values, bias and sink. Hidden keys
/// are not visited; their gradient is the zero that a scatter starts from.

#include "attest/definitions/attention.hpp"
#include "attest/gradients/softmax_gradient.hpp"

namespace attest {

/// GRD.D5  weight_gradient(g, v) = factor * sum_c g_c v_c for a kept key: what its weight has to do with the output.
template <Scalar T>
T weight_gradient(Row<T> g, Row<T> value, const T& factor) {
  return factor * dot(g, value);
}

/// GRD.D6  softcap_gradient(s, cap, g) = (1 - tanh(s / cap)^2) g
template <Scalar T>
T softcap_gradient(const T& s, const T& cap, const T& g) {
  const T y = tanh(T(s / cap));
  return (T(1) - y * y) * g;
}

/// GRD.D7  What a score scale * q.k makes of its cotangent g.
template <class T>
struct ScoreGradient {
  Vector<T> query;  ///< scale * g k
  Vector<T> key;    ///< scale * g q
  T scale;          ///< g q.k
};

/// GRD.D7  score_gradient(q, k, scale, g)
template <Scalar T>
ScoreGradient<T> score_gradient(Row<T> query, Row<T> key, const T& scale, const T& g) {
  const T scaled = scale * g;
  return {tabulate(key.size(), [&](std::size_t c) -> T { return scaled * key[c]; }),
          tabulate(query.size(), [&](std::size_t c) -> T { return scaled * query[c]; }), T(g * dot(query, key))};
}

/// GRD.D8  What a logit makes of its cotangent.
template <class T>
struct LogitGradient {
  T score;  ///< of scale * q.k
  T bias;   ///< of the bias, at its one place; 0 where the head has none
};

/// GRD.D8  logit_gradient(i, j, g): backwards through the bias, wherever it is added, and the softcap.
template <Scalar T>
LogitGradient<T> logit_gradient(const Head<T>& head, std::size_t i, std::size_t j, const T& g);

/// The stages of one row backwards, over its visible keys.
template <class T>
struct RowGradient {
  std::vector<std::size_t> keys;  ///< the visible keys, in order
  Vector<T> weights;              ///< not gradients: the softmax of the row, which the values' gradient needs
  Vector<T> logits;               ///< cotangents of what softmax sees
  Vector<T> scores;               ///< of scale * q.k
  Vector<T> bias;                 ///< of the bias
  std::optional<T> sink;          ///< of the sink; nullopt where the head has none
};

/// GRD.D9  row_gradient(i, g, g_lse): D5, D1, D3, D4 and D8 of row i. The cotangent of an absent log-sum-exp is not
/// given; an empty row's is -infinity, a constant, and passes nothing on.
template <Scalar T>
RowGradient<T> row_gradient(const Head<T>& head, std::size_t i, Row<T> g, const std::optional<T>& g_lse);

/// The gradients of a head: of the shapes of its operands.
template <class T>
struct HeadGradient {
  Matrix<T> queries;              ///< (rows, D)
  Matrix<T> keys;                 ///< (Sk, D)
  Matrix<T> values;               ///< (Sk, Dv)
  std::optional<Matrix<T>> bias;  ///< (rows, Sk); 0 where hidden
  std::optional<T> sink;
};

/// The sums of D10, from rows that are there already: `rows` are those of the head, in order.
template <Scalar T>
HeadGradient<T> gradient_of_rows(const Head<T>& head, const std::vector<RowGradient<T>>& rows,
                                 const Matrix<T>& output_cotangents);

/// GRD.D10  head_gradient: from D9 of every row,
/// dq_i = scale * sum_j ds_ij k_j, dk_j = scale * sum_i ds_ij q_i, dv_j = factor * sum_i w_ij g_i, da = sum_i da_i,
/// sums over visible pairs (for dv: kept ones) in the order of the index. Refuses cotangents of other shapes: GRD.C1.
template <Scalar T>
HeadGradient<T> head_gradient(const Head<T>& head, const Matrix<T>& output_cotangents,
                              const std::optional<Vector<T>>& lse_cotangents);

/// GRD.D11  add_broadcast(t, b, h, G): adds G_ij to the entry of t that SHP.D8 reads at (b, h, i, j), in the order of
/// i and j. An entry that stands for many receives the sum of theirs, not their mean. Only the first
/// `keys` columns of G count: keys that a layer adds have no bias.
template <Scalar T>
void add_broadcast(Tensor<T>& sums, std::size_t b, std::size_t h, const Matrix<T>& g, std::size_t keys) {
  const auto along = [&](std::size_t axis, std::size_t index) { return sums.shape(axis) == 1 ? 0 : index; };
  for (std::size_t i = 0; i < g.shape(0); ++i) {
    for (std::size_t j = 0; j < keys; ++j) {
      T& sum = sums(along(0, b), along(1, h), along(2, i), along(3, j));
      sum = sum + g(i, j);
    }
  }
}

/// The gradients of a call: of the shapes of its inputs, a bias in the shape it was given in.
template <class T>
struct CallGradient {
  Tensor<T> q, k, v;
  std::optional<Tensor<T>> bias;
  std::optional<Vector<T>> sink;
};

/// GRD.D12  attention_gradient(problem, dout, dlse): D10 of every head, added up over the query heads that read a key
/// or value head, and over the entries that an entry of the bias stands for, in the order of batch, head, query, key.
/// The sums start from 0. dout has the shape of the output, dlse that of the log-sum-exp: GRD.C1. Refuses what `check`
/// refuses.
template <Scalar T>
CallGradient<T> attention_gradient(const Problem& problem, const Tensor<double>& dout,
                                   const std::optional<Tensor<double>>& dlse);

#define ATTEST_ATTENTION_GRADIENT(KEYWORD, T)                                                                        \
  KEYWORD template T softcap_gradient(const T&, const T&, const T&);                                                 \
  KEYWORD template ScoreGradient<T> score_gradient(Row<T>, Row<T>, const T&, const T&);                              \
  KEYWORD template LogitGradient<T> logit_gradient(const Head<T>&, std::size_t, std::size_t, const T&);              \
  KEYWORD template RowGradient<T> row_gradient(const Head<T>&, std::size_t, Row<T>, const std::optional<T>&);        \
  KEYWORD template HeadGradient<T> gradient_of_rows(const Head<T>&, const std::vector<RowGradient<T>>&,              \
                                                    const Matrix<T>&);                                               \
  KEYWORD template HeadGradient<T> head_gradient(const Head<T>&, const Matrix<T>&, const std::optional<Vector<T>>&); \
  KEYWORD template CallGradient<T> attention_gradient(const Problem&, const Tensor<double>&,                         \
                                                      const std::optional<Tensor<double>>&);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_ATTENTION_GRADIENT, extern)

}  // namespace attest
