#pragma once
/// Chapter 06 (MHA): from a whole call to one head: which key and value head a query head reads, and the operands of
/// that head in a given arithmetic.

#include "attest/definitions/problem.hpp"
#include "attest/scalar/arithmetics.hpp"

namespace attest {

/// MHA.D1  key_head(h) = floor(h / (Hq / Hk)) when grouped, h mod Hk when tiled. Hk divides Hq: ATT.C3.
std::size_t key_head(std::size_t h, std::size_t q_heads, std::size_t k_heads, HeadMap map);

/// Some query rows of one head with everything they need, in the arithmetic T. Rows are numbered from 0 within it.
template <class T>
struct Head {
  Matrix<T> queries;      ///< (rows, D)
  Matrix<T> keys;         ///< (Sk, D)
  Matrix<T> values;       ///< (Sk, Dv)
  Matrix<bool> visible;   ///< (rows, Sk)
  T scale = T(1);         ///< of q.k, f8 descale factors included
  T bias_scale = T(1);    ///< of a bias inside the scale: the call's scale alone
  T output_scale = T(1);  ///< the f8 descale factor of the values, over 1 - p under dropout
  std::optional<T> softcap;
  std::optional<Matrix<T>> bias;  ///< (rows, Sk); 0 where hidden
  BiasPosition bias_position = BiasPosition::after_softcap;
  std::optional<T> sink;
  std::optional<T> dropout;          ///< its probability p < 1; absent when p = 1, where nothing is kept
  std::optional<Matrix<bool>> kept;  ///< (rows, Sk), present with dropout
  bool sink_in_lse = true;
  LseBase lse_base = LseBase::e;
};

/// ATT.D12  scale_of(call, d): the call's scale, or the real number 1/sqrt(d) evaluated in T.
template <Scalar T>
T scale_of(const Call& call, std::size_t width) {
  return call.scale ? lift<T>(*call.scale) : T(T(1) / sqrt(T(static_cast<int>(width))));
}

/// ATT.D9  alibi(i, j) = -slope * |p - j| or slope * (j - p), with p = i + offset the query's position.
template <Scalar T>
T alibi(const T& slope, std::int64_t p, std::int64_t j, AlibiForm form) {
  const std::int64_t distance = form == AlibiForm::distance ? -std::abs(p - j) : j - p;
  return slope * lift<T>(static_cast<double>(distance));
}

/// The operands of query head h of batch entry b, for the query rows given, lifted into T.
template <Scalar T>
Head<T> head_of(const Problem& problem, std::size_t b, std::size_t h, const std::vector<std::size_t>& rows);

#define ATTEST_HEADS(KEYWORD, T) \
  KEYWORD template Head<T> head_of(const Problem&, std::size_t, std::size_t, const std::vector<std::size_t>&);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_HEADS, extern)

}  // namespace attest
