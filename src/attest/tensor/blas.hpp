#pragma once
/// The fast twin of `matmul` for float and double: a CBLAS through xtensor-blas. It adds in an order of its own, so
/// its bits are not those of the definition; it lies within the bound that holds for every order (BND.B2, SHP.P2).

#include <xtensor-blas/xlinalg.hpp>

#include "attest/tensor/tensor.hpp"

namespace attest {

template <std::floating_point T>
Matrix<T> blas_matmul(const Matrix<T>& a, const Matrix<T>& b) {
  require(a.shape(1) == b.shape(0), "SHP.C2", "inner extents agree, got {} and {}", a.shape(1), b.shape(0));
  return xt::linalg::dot(a, b);
}

}  // namespace attest
