#pragma once
/// Chapter 05 (ATT): attention with its shapes in the types. A product of mismatched shapes does not compile. This twin
/// carries dimensions and forwards; all arithmetic is in the definitions.

#include <xtensor/xfixed.hpp>

#include "attest/definitions/attention.hpp"

namespace attest {

/// A matrix of R^(Rows x Columns), the paper's superscript as a type.
template <class T, std::size_t Rows, std::size_t Columns>
using Real = xt::xtensor_fixed<T, xt::xshape<Rows, Columns>>;

/// A vector of R^N.
template <class T, std::size_t N>
using RealVector = xt::xtensor_fixed<T, xt::xshape<N>>;

/// ATT.D13  attend(Q, K, V, M) with Q in R^(s x d), K in R^(m x d), V in R^(m x c), M in R^(s x m), result in R^(s x
/// c).
template <Scalar T, std::size_t S, std::size_t M, std::size_t D, std::size_t C>
Real<T, S, C> attend(const Real<T, S, D>& q, const Real<T, M, D>& k, const Real<T, M, C>& v,
                     const std::optional<Real<T, S, M>>& mask = std::nullopt) {
  const std::optional<Matrix<T>> m = mask ? std::optional<Matrix<T>>(*mask) : std::nullopt;
  return textbook_attention<T>(Matrix<T>(q), Matrix<T>(k), Matrix<T>(v), m);
}

}  // namespace attest
