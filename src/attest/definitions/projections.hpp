#pragma once
/// Chapter 06 (MHA): what surrounds the heads of a layer: affine maps before and after them, splitting a matrix into
/// heads and merging heads into one, and a cache of keys and values. All of it moves entries, but for the affine map.

#include <optional>
#include <vector>

#include "attest/scalar/arithmetics.hpp"
#include "attest/tensor/tensor.hpp"

namespace attest {

/// MHA.D2  split_heads(X, H)_h(s, c) = X(s, h w + c), of width w: (S, H w) -> H matrices (S, w). Refuses a width that H
/// does not divide: MHA.C1.
template <class T>
std::vector<Matrix<T>> split_heads(const Matrix<T>& x, std::size_t heads) {
  require(heads > 0 && x.shape(1) % heads == 0, "MHA.C1", "heads: a divisor of the width {}, got {}", x.shape(1),
          heads);
  const std::size_t width = x.shape(1) / heads;
  std::vector<Matrix<T>> split;
  for (std::size_t h = 0; h < heads; ++h) {
    split.push_back(
        tabulate(x.shape(0), width, [&](std::size_t s, std::size_t c) -> T { return x(s, h * width + c); }));
  }
  return split;
}

/// MHA.D3  merge_heads(X_0, ..., X_(H-1))(s, h w + c) = X_h(s, c): the heads side by side. Refuses heads of unequal
/// shape, and none: MHA.C2.
template <class T>
Matrix<T> merge_heads(const std::vector<Matrix<T>>& heads) {
  require(!heads.empty(), "MHA.C2", "heads: at least one, got none");
  const std::size_t width = heads[0].shape(1);
  for (const Matrix<T>& head : heads) {
    require(head.shape() == heads[0].shape(), "MHA.C2", "heads: equal shapes, got ({}, {}) and ({}, {})",
            heads[0].shape(0), width, head.shape(0), head.shape(1));
  }
  return tabulate(heads[0].shape(0), heads.size() * width,
                  [&](std::size_t s, std::size_t n) -> T { return heads[n / width](s, n % width); });
}

/// MHA.D4  affine(X, W, b)(s, n) = sum_r X(s, r) W(r, n) + b(n); without a bias nothing is added. Refuses widths that
/// do not agree: SHP.C2.
template <Scalar T>
Matrix<T> affine(const Matrix<T>& x, const Matrix<T>& weight, const std::optional<Vector<T>>& bias) {
  require(x.shape(1) == weight.shape(0), "SHP.C2", "inner extents agree, got {} and {}", x.shape(1), weight.shape(0));
  require(!bias || bias->size() == weight.shape(1), "SHP.C2", "a bias of width {}, got {}", weight.shape(1),
          bias ? bias->size() : 0);
  return tabulate(x.shape(0), weight.shape(1), [&](std::size_t s, std::size_t n) -> T {
    const T product = sum_over<T>(x.shape(1), [&](std::size_t r) -> T { return x(s, r) * weight(r, n); });
    return bias ? T(product + (*bias)(n)) : product;
  });
}

/// MHA.D5  project_heads(X, [W_0, ...])_h = X W_h: a projection for each head, from a list of matrices.
template <Scalar T>
std::vector<Matrix<T>> project_heads(const Matrix<T>& x, const std::vector<Matrix<T>>& weights) {
  std::vector<Matrix<T>> projected;
  for (const Matrix<T>& weight : weights) projected.push_back(affine(x, weight, std::optional<Vector<T>>()));
  return projected;
}

/// MHA.D6  append_rows(past, now): the rows of a cache, then the new ones. Refuses unequal widths: MHA.C3.
template <class T>
Matrix<T> append_rows(const Matrix<T>& past, const Matrix<T>& now) {
  require(past.shape(1) == now.shape(1), "MHA.C3", "cache: rows of width {}, got {}", past.shape(1), now.shape(1));
  const std::size_t before = past.shape(0);
  return tabulate(before + now.shape(0), now.shape(1),
                  [&](std::size_t s, std::size_t c) -> T { return s < before ? past(s, c) : now(s - before, c); });
}

#define ATTEST_PROJECTIONS(KEYWORD, T)                                                                    \
  KEYWORD template std::vector<Matrix<T>> split_heads(const Matrix<T>&, std::size_t);                     \
  KEYWORD template Matrix<T> merge_heads(const std::vector<Matrix<T>>&);                                  \
  KEYWORD template Matrix<T> affine(const Matrix<T>&, const Matrix<T>&, const std::optional<Vector<T>>&); \
  KEYWORD template std::vector<Matrix<T>> project_heads(const Matrix<T>&, const std::vector<Matrix<T>>&); \
  KEYWORD template Matrix<T> append_rows(const Matrix<T>&, const Matrix<T>&);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_PROJECTIONS, extern)

}  // namespace attest
