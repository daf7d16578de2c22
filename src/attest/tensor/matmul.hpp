#pragma once
/// Chapter 02 (SHP): the matrix product, by its formula. The fast twin is in blas.hpp.

#include "attest/tensor/tensor.hpp"

namespace attest {

/// SHP.D5  matmul(A, B)_ij = sum_c A_ic B_cj, added in the order of c.
template <Scalar T>
Matrix<T> matmul(const Matrix<T>& a, const Matrix<T>& b) {
  require(a.shape(1) == b.shape(0), "SHP.C2", "inner extents agree, got {} and {}", a.shape(1), b.shape(0));
  return tabulate(a.shape(0), b.shape(1), [&](std::size_t i, std::size_t j) {
    return sum_over<T>(a.shape(1), [&](std::size_t c) -> T { return a(i, c) * b(c, j); });
  });
}

/// The transpose: t(i, j) = m(j, i).
template <class T>
Matrix<T> transpose(const Matrix<T>& m) {
  return tabulate(m.shape(1), m.shape(0), [&](std::size_t i, std::size_t j) -> T { return m(j, i); });
}

}  // namespace attest
