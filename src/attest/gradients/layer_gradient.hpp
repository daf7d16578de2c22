#pragma once
/// Chapter 13 (GRD): the gradients of chapter 06: affine maps, splitting and merging, appended rows, and the configured
/// layer. Splitting and merging move entries, so that the gradient of one is the other.

#include "attest/definitions/layer.hpp"
#include "attest/gradients/attention_gradient.hpp"

namespace attest {

/// GRD.D13  What X W + b makes of a cotangent g of its result.
template <class T>
struct AffineGradient {
  Matrix<T> x;                    ///< g W^T
  Matrix<T> weight;               ///< X^T g
  std::optional<Vector<T>> bias;  ///< sum_s g_s
};

/// GRD.D13  affine_gradient(X, W, g): dX_sr = sum_n g_sn W_rn, dW_rn = sum_s X_sr g_sn, db_n = sum_s g_sn. Refuses a
/// cotangent that has not the shape of X W: GRD.C1.
template <Scalar T>
AffineGradient<T> affine_gradient(const Matrix<T>& x, const Matrix<T>& weight, bool has_bias, const Matrix<T>& g) {
  const std::size_t rows = x.shape(0), inner = x.shape(1), width = weight.shape(1);
  require(g.shape(0) == rows && g.shape(1) == width, "GRD.C1", "g: shape ({}, {}), got ({}, {})", rows, width,
          g.shape(0), g.shape(1));
  AffineGradient<T> result{
      tabulate(rows, inner, [&](std::size_t s, std::size_t r) { return dot(row_of(g, s), row_of(weight, r)); }),
      tabulate(inner, width,
               [&](std::size_t r, std::size_t n) {
                 return sum_over<T>(rows, [&](std::size_t s) -> T { return x(s, r) * g(s, n); });
               }),
      std::nullopt};
  if (has_bias) {
    result.bias =
        tabulate(width, [&](std::size_t n) { return sum_over<T>(rows, [&](std::size_t s) -> T { return g(s, n); }); });
  }
  return result;
}

/// GRD.D14  split_heads_gradient(g) = merge_heads(g)
template <class T>
Matrix<T> split_heads_gradient(const std::vector<Matrix<T>>& g) {
  return merge_heads(g);
}

/// GRD.D14  merge_heads_gradient(g, H) = split_heads(g, H)
template <class T>
std::vector<Matrix<T>> merge_heads_gradient(const Matrix<T>& g, std::size_t heads) {
  return split_heads(g, heads);
}

/// GRD.D15  What [past; now] makes of its cotangent.
template <class T>
struct AppendGradient {
  Matrix<T> past;
  Matrix<T> now;
};

/// GRD.D15  append_rows_gradient(g, n): the first n rows and the others.
template <class T>
AppendGradient<T> append_rows_gradient(const Matrix<T>& g, std::size_t past) {
  const auto rows = [&](std::size_t first, std::size_t count) {
    return tabulate(count, g.shape(1), [&](std::size_t s, std::size_t c) -> T { return g(first + s, c); });
  };
  return {rows(0, past), rows(past, g.shape(0) - past)};
}

/// GRD.D16  mean_weights_gradient(g, H)_j = g_j / H, the same for every head.
template <Scalar T>
Vector<T> mean_weights_gradient(Row<T> g, std::size_t heads) {
  return tabulate(g.size(), [&](std::size_t j) -> T { return g[j] / T(static_cast<int>(heads)); });
}

/// The gradients of a layer: of the shapes of its inputs and of its state. `state` holds no probability: dropout's is a
/// slot of the state that is not trained, and it has no gradient.
template <class T>
struct LayerGradient {
  LayerState<T> state;
  Tensor<T> query, key, value;
  std::optional<Vector<T>> key_row;
  std::optional<Vector<T>> value_row;
  std::optional<Tensor<T>> bias;  ///< the additive bias of the attention inside, in its given shape
  std::optional<Vector<T>> sink;
};

/// GRD.D17  layer_gradient(problem, dout): backwards through the output map (D13), merging (D14), every head (D10),
/// splitting, the added keys (D15) and the projections (D13); states are added up over the batch. dout is (B, Sq, Eo):
/// GRD.C1. Refuses what `check` refuses.
template <Scalar T>
LayerGradient<T> layer_gradient(const LayerProblem& problem, const Tensor<double>& dout);

#define ATTEST_LAYER_GRADIENT(KEYWORD, T)                                                                         \
  KEYWORD template AffineGradient<T> affine_gradient(const Matrix<T>&, const Matrix<T>&, bool, const Matrix<T>&); \
  KEYWORD template LayerGradient<T> layer_gradient(const LayerProblem&, const Tensor<double>&);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_LAYER_GRADIENT, extern)

}  // namespace attest
