#pragma once
/// Chapter 20 (CNV): the bias of a call of ggml, which multiplies its mask by a slope for each head.

#include "attest/definitions/positions.hpp"

namespace attest {

/// Refuses a max_bias that is no finite number of at least 0: CNV.C1.
void require_max_bias(float max_bias);

/// CNV.D17  ggml_slope(h, H, max_bias) = alibi_slope(h, H)^(max_bias / 8), evaluated as
/// exp(max_bias / 8 * ln alibi_slope); exactly 1 for a max_bias of 0.
template <Scalar T>
T ggml_slope(std::size_t h, std::size_t heads, float max_bias) {
  require_max_bias(max_bias);
  return exp(T(lift<T>(max_bias) / T(8) * log(alibi_slope<T>(h, heads))));
}

/// CNV.D17  ggml_bias(mask, (B, H, N, n), max_bias)_bhij = ggml_slope(h) * mask(b mod Bm, h mod Hm, i, j), rounded to
/// binary64 once; an entry that is not finite stays as it is. Rows and keys beyond the shape are cut off.
Tensor<double> ggml_bias(const Tensor<double>& mask, const Shape& shape, float max_bias);

#define ATTEST_GGML(KEYWORD, T) KEYWORD template T ggml_slope<T>(std::size_t, std::size_t, float);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_GGML, extern)

}  // namespace attest
