#include "attest/conventions/ggml.hpp"

#include <cmath>

#include "attest/scalar/nearest.hpp"

namespace attest {

namespace {

/// Refuses a mask that has no entry for some pair of the bias: CNV.C1.
void require_covers(const Tensor<double>& mask, const Shape& bias) {
  const Shape given(mask.shape().begin(), mask.shape().end());
  const auto repeats_to = [&](std::size_t axis) { return given[axis] > 0 && bias[axis] % given[axis] == 0; };
  require(bias.size() == 4, "CNV.C1", "shape: (batch, heads, queries, keys), got {}", to_string(bias));
  require(given.size() == 4 && repeats_to(0) && repeats_to(1) && given[2] >= bias[2] && given[3] >= bias[3], "CNV.C1",
          "mask: a batch that divides {}, heads that divide {}, at least {} queries, at least {} keys, got {}", bias[0],
          bias[1], bias[2], bias[3], to_string(given));
}

double biased(double m, std::size_t h, std::size_t heads, float max_bias) {
  if (m == 0 || !std::isfinite(m)) return m;
  return nearest([&] { return Enclosure(ggml_slope<Enclosure>(h, heads, max_bias) * lift<Enclosure>(m)); });
}

}  // namespace

void require_max_bias(float max_bias) {
  require(max_bias >= 0 && std::isfinite(max_bias), "CNV.C1", "max_bias: a finite number of at least 0, got {}",
          max_bias);
}

Tensor<double> ggml_bias(const Tensor<double>& mask, const Shape& shape, float max_bias) {
  require_max_bias(max_bias);
  require_covers(mask, shape);
  Tensor<double> bias = Tensor<double>::from_shape(shape);
  for (std::size_t b = 0; b < shape[0]; ++b) {
    for (std::size_t h = 0; h < shape[1]; ++h) {
      for (std::size_t i = 0; i < shape[2]; ++i) {
        for (std::size_t j = 0; j < shape[3]; ++j) {
          bias(b, h, i, j) = biased(mask(b % mask.shape(0), h % mask.shape(1), i, j), h, shape[1], max_bias);
        }
      }
    }
  }
  return bias;
}

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_GGML, )

}  // namespace attest
