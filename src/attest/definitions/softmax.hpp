#pragma once
/// Chapter 04 (SMX): softmax over the visible keys of a row, its log-sum-exp, and the three forms in use that deviate
/// from it. Hidden scores are never gathered, so they reach neither the shift nor the total.

#include <optional>

#include "attest/definitions/mask.hpp"
#include "attest/scalar/arithmetics.hpp"
#include "attest/tensor/tensor.hpp"

namespace attest {

/// The shared step of softmax, log-sum-exp and the output quotient.
template <class T>
struct Exponentials {
  Vector<T> terms;  ///< e_j
  T total;          ///< sum of the e_j
  T shift;          ///< c
};

/// SMX.D1  e_j = exp(s_j - c), total = sum_j e_j, for any point c.
template <Scalar T>
Exponentials<T> exponentials(Row<T> scores, const T& shift) {
  Vector<T> terms = tabulate(scores.size(), [&](std::size_t j) -> T { return exp(T(scores[j] - shift)); });
  T total = sum_over<T>(terms.size(), [&](std::size_t j) { return terms(j); });
  return {std::move(terms), std::move(total), shift};
}

/// SMX.D1  with c = shift_of(scores); the row is not empty.
template <Scalar T>
Exponentials<T> exponentials(Row<T> scores) {
  return exponentials(scores, shift_of(scores));
}

/// SMX.D2  softmax(s)_j = e_j / sum_k e_k; the empty row has no weights.
template <Scalar T>
Vector<T> softmax(Row<T> scores) {
  if (scores.empty()) return Vector<T>::from_shape({0});
  const Exponentials<T> e = exponentials(scores);
  return tabulate(scores.size(), [&](std::size_t j) -> T { return e.terms(j) / e.total; });
}

/// SMX.D3  masked_softmax(s, visible): softmax of the gathered visible scores, scattered back; hidden keys and every
/// key of an empty row have weight 0. Refuses rows of unequal length: SMX.C1.
template <Scalar T>
Vector<T> masked_softmax(Row<T> scores, Row<bool> visible) {
  require(scores.size() == visible.size(), "SMX.C1", "row and visible set have equal length, got {} and {}",
          scores.size(), visible.size());
  const std::vector<std::size_t> keys = visible_keys(visible);
  const Vector<T> gathered = gather(scores, keys);
  return scatter(softmax(row_of(gathered)), keys, scores.size());
}

/// SMX.D4  log_sum_exp(s) = c + log sum_j exp(s_j - c); nullopt (that is, -infinity) for the empty row.
template <Scalar T>
std::optional<T> log_sum_exp(Row<T> scores) {
  if (scores.empty()) return std::nullopt;
  const Exponentials<T> e = exponentials(scores);
  return T(e.shift + log(e.total));
}

/// The row with one more score at its end.
template <Scalar T>
Vector<T> append(Row<T> scores, const T& last) {
  return tabulate(scores.size() + 1, [&](std::size_t j) -> T { return j < scores.size() ? scores[j] : last; });
}

/// SMX.D5  sink_softmax(s, a): the sink joins the row as one more score; its weight is dropped.
template <Scalar T>
Vector<T> sink_softmax(Row<T> scores, const T& sink) {
  const Vector<T> joined = append(scores, sink);
  const Vector<T> weights = softmax(row_of(joined));
  return tabulate(scores.size(), [&](std::size_t j) -> T { return weights(j); });
}

/// SMX.D6  additive_softmax(s, visible) = softmax(s + M), M = 0 or -infinity. A deviation: NaN on an empty row
/// (SMX.P8).
template <ExtendedScalar T>
Vector<T> additive_softmax(Row<T> scores, Row<bool> visible) {
  const Vector<T> masked = tabulate(scores.size(), [&](std::size_t j) -> T {
    return scores[j] + (visible[j] ? T(0) : Arithmetic<T>::minus_infinity());
  });
  return softmax(row_of(masked));
}

/// SMX.D7  sentinel_fill_softmax(s, visible, N) = softmax(s where visible, N elsewhere). A deviation: SMX.P9.
template <Scalar T>
Vector<T> sentinel_fill_softmax(Row<T> scores, Row<bool> visible, const T& sentinel) {
  const Vector<T> filled =
      tabulate(scores.size(), [&](std::size_t j) -> T { return visible[j] ? scores[j] : sentinel; });
  return softmax(row_of(filled));
}

/// SMX.D8  sentinel_additive_softmax(s, visible, N) = softmax(s + N where hidden). A deviation: SMX.P10.
template <Scalar T>
Vector<T> sentinel_additive_softmax(Row<T> scores, Row<bool> visible, const T& sentinel) {
  const Vector<T> shifted =
      tabulate(scores.size(), [&](std::size_t j) -> T { return visible[j] ? scores[j] : T(scores[j] + sentinel); });
  return softmax(row_of(shifted));
}

/// SMX.D9  lse_in_base(x, b): a natural log-sum-exp in base e or 2.
template <Scalar T>
T lse_in_base(const T& natural, LseBase base) {
  return base == LseBase::e ? natural : T(natural / log(T(2)));
}

#define ATTEST_SOFTMAX(KEYWORD, T)                                                   \
  KEYWORD template Exponentials<T> exponentials(Row<T>, const T&);                   \
  KEYWORD template Exponentials<T> exponentials(Row<T>);                             \
  KEYWORD template Vector<T> softmax(Row<T>);                                        \
  KEYWORD template Vector<T> masked_softmax(Row<T>, Row<bool>);                      \
  KEYWORD template std::optional<T> log_sum_exp(Row<T>);                             \
  KEYWORD template Vector<T> sink_softmax(Row<T>, const T&);                         \
  KEYWORD template Vector<T> sentinel_fill_softmax(Row<T>, Row<bool>, const T&);     \
  KEYWORD template Vector<T> sentinel_additive_softmax(Row<T>, Row<bool>, const T&); \
  KEYWORD template T lse_in_base(const T&, LseBase);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_SOFTMAX, extern)

}  // namespace attest
