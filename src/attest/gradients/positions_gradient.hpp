#pragma once
/// Chapter 13 (GRD): the gradients of chapter 10. Angles and encodings are not learned; what depends on learned numbers
/// is the rotation of a row, and the bias of a slope.

#include "attest/definitions/heads.hpp"
#include "attest/definitions/positions.hpp"

namespace attest {

/// GRD.D20  rotary_gradient(g) = rotary(g, cosines, -sines): the transpose of a rotation turns back. Where the first r
/// channels are rotated, the gradient of the others is copied.
template <Scalar T>
Vector<T> rotary_gradient(Row<T> g, Row<T> cosines, Row<T> sines, Pairing pairing) {
  const Vector<T> back = tabulate(sines.size(), [&](std::size_t n) -> T { return -sines[n]; });
  return rotary(g, cosines, row_of(back), pairing);
}

/// GRD.D21  slope_gradient(G) = sum_ij G_ij alibi(1, i + offset, j): what the slope of a head makes of the cotangents
/// of its bias, 0 where hidden.
template <Scalar T>
T slope_gradient(const Matrix<T>& g, std::int64_t offset, AlibiForm form) {
  return sum_over<T>(g.size(), [&](std::size_t n) -> T {
    const std::size_t i = n / g.shape(1), j = n % g.shape(1);
    return g(i, j) * alibi(T(1), static_cast<std::int64_t>(i) + offset, static_cast<std::int64_t>(j), form);
  });
}

#define ATTEST_POSITIONS_GRADIENT(KEYWORD, T)                                  \
  KEYWORD template Vector<T> rotary_gradient(Row<T>, Row<T>, Row<T>, Pairing); \
  KEYWORD template T slope_gradient(const Matrix<T>&, std::int64_t, AlibiForm);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_POSITIONS_GRADIENT, extern)

}  // namespace attest
