#pragma once
/// Chapter 05 (ATT): attention. One query against m keys; then a row of a head with its stages as values; then the
/// whole call. The output is one quotient, (sum e_k v_k) / (sum e_k), so that equal keys stay exact.

#include "attest/definitions/heads.hpp"
#include "attest/definitions/softmax.hpp"
#include "attest/tensor/matmul.hpp"

namespace attest {

/// ATT.D6  weighted_values(e, V)_c = (sum_n e_n V_nc) / total, over the keys listed; `total` may hold a sink's share.
template <Scalar T>
Vector<T> weighted_values(const Exponentials<T>& e, const Matrix<T>& values, const std::vector<std::size_t>& terms,
                          const std::vector<std::size_t>& keys) {
  return tabulate(values.shape(1), [&](std::size_t c) -> T {
    return sum_over<T>(terms.size(),
                       [&](std::size_t n) -> T { return e.terms(terms[n]) * values(keys[terms[n]], c); }) /
           e.total;
  });
}

/// 0, 1, ..., n-1
std::vector<std::size_t> all_indices(std::size_t n);

/// ATT.D1  compute(q, K, V) = (sum_i exp(q.k_i) v_i) / (sum_i exp(q.k_i)): one query, m >= 1 keys, unscaled.
/// q in R^d, K in R^(m x d), V in R^(m x c), the result in R^c. Refuses unequal widths and lengths: ATT.C1, ATT.C2.
template <Scalar T>
Vector<T> compute(Row<T> query, const Matrix<T>& keys, const Matrix<T>& values) {
  require(query.size() == keys.shape(1), "ATT.C1", "query and key widths agree, got {} and {}", query.size(),
          keys.shape(1));
  require(keys.shape(0) == values.shape(0), "ATT.C2", "keys and values need equal length, got {} and {}", keys.shape(0),
          values.shape(0));
  const Vector<T> scores = tabulate(keys.shape(0), [&](std::size_t i) -> T { return dot(query, row_of(keys, i)); });
  const std::vector<std::size_t> every = all_indices(keys.shape(0));
  return weighted_values(exponentials(row_of(scores)), values, every, every);
}

/// ATT.D2  score(i, j) = scale * (query_i . key_j)
template <Scalar T>
T score(Row<T> query, Row<T> key, const T& scale) {
  return scale * dot(query, key);
}

/// ATT.D3  softcap(s) = cap * tanh(s / cap)
template <Scalar T>
T softcap(const T& s, const T& cap) {
  return cap * tanh(T(s / cap));
}

/// s plus the bias, if this is the place where the call adds it; inside the scale it is scaled too.
template <Scalar T>
T add_bias(const Head<T>& head, std::size_t i, std::size_t j, const T& s, BiasPosition place) {
  if (!head.bias || head.bias_position != place) return s;
  const T& bias = (*head.bias)(i, j);
  return s + (place == BiasPosition::inside_scale ? T(head.bias_scale * bias) : bias);
}

/// ATT.D14  scaled_score(i, j) = scale * q_i.k_j, without any bias.
template <Scalar T>
T scaled_score(const Head<T>& head, std::size_t i, std::size_t j) {
  return score(row_of(head.queries, i), row_of(head.keys, j), head.scale);
}

/// scaled + early bias: what the softcap is applied to.
template <Scalar T>
T softcap_argument(const Head<T>& head, std::size_t i, std::size_t j) {
  const T inside = add_bias(head, i, j, scaled_score(head, i, j), BiasPosition::inside_scale);
  return add_bias(head, i, j, inside, BiasPosition::before_softcap);
}

/// ATT.D14  capped_score(i, j) = softcap(scaled + early bias); without a softcap, its argument.
template <Scalar T>
T capped_score(const Head<T>& head, std::size_t i, std::size_t j) {
  const T argument = softcap_argument(head, i, j);
  return head.softcap ? softcap(argument, *head.softcap) : argument;
}

/// ATT.D4  logit(i, j) = capped + bias after the softcap: what softmax sees, whichever of its three places the bias
/// has.
template <Scalar T>
T logit(const Head<T>& head, std::size_t i, std::size_t j, const T& capped) {
  return add_bias(head, i, j, capped, BiasPosition::after_softcap);
}

/// ATT.D5  kept_weight(w) = w / (1 - p) where kept, 0 where dropped. When p = 1 no key is kept.
template <Numeric T>
T kept_weight(const T& weight, bool kept, const T& probability) {
  return kept ? T(weight / (T(1) - probability)) : T(0);
}

/// The stages of one row as values, over its visible keys.
template <class T>
struct AttendedRow {
  std::vector<std::size_t> keys;  ///< the visible keys, in order
  Vector<T> logits;               ///< what softmax sees
  Vector<T> weights;              ///< softmax; a sink's share is missing from their sum
  std::optional<T> lse;           ///< in the call's base; nullopt: an empty row, -infinity
  Vector<T> output;               ///< (Dv)
};

/// ATT.D7  attend_logits: weights, LSE and output of row i from the logits of its visible keys.
template <Scalar T>
AttendedRow<T> attend_logits(const Head<T>& head, std::size_t i, std::vector<std::size_t> keys, Vector<T> logits);

/// ATT.D7  attend_row(i): the stages of row i of a head. Hidden keys are not visited.
template <Scalar T>
AttendedRow<T> attend_row(const Head<T>& head, std::size_t i) {
  std::vector<std::size_t> keys = visible_keys(row_of(head.visible, i));
  Vector<T> logits = tabulate(
      keys.size(), [&](std::size_t n) -> T { return logit(head, i, keys[n], capped_score(head, i, keys[n])); });
  return attend_logits(head, i, std::move(keys), std::move(logits));
}

/// Every row of a call, numbered (b * Hq + h) * Sq + i.
template <class T>
struct Attended {
  Extents extents;
  std::vector<AttendedRow<T>> rows;

  const AttendedRow<T>& at(std::size_t b, std::size_t h, std::size_t i) const {
    return rows[(b * extents.q_heads + h) * extents.queries + i];
  }
};

/// ATT.D8  attention(problem): D7 at every (b, h, i). Refuses what `check` refuses.
template <Scalar T>
Attended<T> attention(const Problem& problem);

/// ATT.D16  textbook_attention(Q, K, V, M) = softmax(Q K^T / sqrt(d) + M) V, weights times values.
template <Scalar T>
Matrix<T> textbook_attention(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v,
                             const std::optional<Matrix<T>>& m) {
  const T scale = scale_of<T>(Call{}, q.shape(1));
  const Matrix<T> products = matmul(q, transpose(k));
  const Matrix<T> scores = tabulate(q.shape(0), k.shape(0), [&](std::size_t i, std::size_t j) -> T {
    return m ? T(scale * products(i, j) + (*m)(i, j)) : T(scale * products(i, j));
  });
  Matrix<T> weights = scores;
  for (std::size_t i = 0; i < q.shape(0); ++i) {
    const Vector<T> row = softmax(row_of(scores, i));
    for (std::size_t j = 0; j < k.shape(0); ++j) weights(i, j) = row(j);
  }
  return matmul(weights, v);
}

#define ATTEST_ATTENTION(KEYWORD, T)                                                                               \
  KEYWORD template Vector<T> compute(Row<T>, const Matrix<T>&, const Matrix<T>&);                                  \
  KEYWORD template T scaled_score(const Head<T>&, std::size_t, std::size_t);                                       \
  KEYWORD template T capped_score(const Head<T>&, std::size_t, std::size_t);                                       \
  KEYWORD template T logit(const Head<T>&, std::size_t, std::size_t, const T&);                                    \
  KEYWORD template AttendedRow<T> attend_logits(const Head<T>&, std::size_t, std::vector<std::size_t>, Vector<T>); \
  KEYWORD template AttendedRow<T> attend_row(const Head<T>&, std::size_t);                                         \
  KEYWORD template Attended<T> attention(const Problem&);                                                          \
  KEYWORD template Matrix<T> textbook_attention(const Matrix<T>&, const Matrix<T>&, const Matrix<T>&,              \
                                                const std::optional<Matrix<T>>&);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_ATTENTION, extern)

}  // namespace attest
