/// Chapter 02: the examples.

#include "attest/tensor/matmul.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

EXAMPLE(SHP_E1, a_matrix_product_by_hand) {
  const Matrix<double> a = {{1, 2}, {3, 4}};
  const Matrix<double> b = {{5, 6}, {7, 8}};
  EXPECT_EQ(matmul(a, b), (Matrix<double>{{19, 22}, {43, 50}}));
}

}  // namespace
}  // namespace attest
