#pragma once
/// Chapter 02 (SHP): tensors, and the three ways a definition makes one: from its formula, as a sum, by picking.
/// xtensor holds, views and prints; the order of every summation is the order of the index, because it is part of the
/// definition.

#include <span>
#include <vector>
#include <xtensor/xarray.hpp>
#include <xtensor/xtensor.hpp>

#include "attest/scalar/error.hpp"
#include "attest/scalar/native.hpp"
#include "attest/tensor/shape.hpp"

namespace attest {

template <class T>
using Vector = xt::xtensor<T, 1>;
template <class T>
using Matrix = xt::xtensor<T, 2>;
template <class T>
using Tensor = xt::xarray<T>;

/// A row of a matrix, or a whole vector: contiguous, read only.
template <class T>
using Row = std::span<const T>;

template <class T>
Row<T> row_of(const Matrix<T>& matrix, std::size_t i) {
  return Row<T>(matrix.data() + i * matrix.shape(1), matrix.shape(1));
}

template <class T>
Row<T> row_of(const Vector<T>& vector) {
  return Row<T>(vector.data(), vector.size());
}

/// SHP.D2  tabulate(n, f)_i = f(i): a vector defined by its formula.
template <class F>
auto tabulate(std::size_t n, F&& f) {
  using T = std::decay_t<decltype(f(std::size_t(0)))>;
  Vector<T> result = Vector<T>::from_shape({n});
  for (std::size_t i = 0; i < n; ++i) result(i) = f(i);
  return result;
}

/// SHP.D2  tabulate(n, m, f)_ij = f(i, j): a matrix defined by its formula.
template <class F>
auto tabulate(std::size_t rows, std::size_t columns, F&& f) {
  using T = std::decay_t<decltype(f(std::size_t(0), std::size_t(0)))>;
  Matrix<T> result = Matrix<T>::from_shape({rows, columns});
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) result(i, j) = f(i, j);
  }
  return result;
}

/// SHP.D3  sum_over(n, f) = f(0) + f(1) + ... + f(n-1), added from the left; the empty sum is 0.
template <Numeric T, class F>
T sum_over(std::size_t n, F&& f) {
  if (n == 0) return T(0);
  T total = f(std::size_t(0));
  for (std::size_t i = 1; i < n; ++i) total = total + f(i);
  return total;
}

/// SHP.D4  dot(a, b) = sum_c a_c b_c
template <Numeric T>
T dot(Row<T> a, Row<T> b) {
  require(a.size() == b.size(), "SHP.C2", "inner extents agree, got {} and {}", a.size(), b.size());
  return sum_over<T>(a.size(), [&](std::size_t c) -> T { return a[c] * b[c]; });
}

/// SHP.D6  gather(row, picked)_n = row[picked_n]
template <class T>
Vector<T> gather(Row<T> row, const std::vector<std::size_t>& picked) {
  return tabulate(picked.size(), [&](std::size_t n) -> T { return row[picked[n]]; });
}

/// SHP.D7  scatter(values, picked, m): a row of m zeros with value n written at picked_n.
template <Numeric T>
Vector<T> scatter(const Vector<T>& values, const std::vector<std::size_t>& picked, std::size_t m) {
  Vector<T> row = tabulate(m, [](std::size_t) { return T(0); });
  for (std::size_t n = 0; n < picked.size(); ++n) row(picked[n]) = values(n);
  return row;
}

/// SHP.D8  broadcast_at(t, b, h, i, j): the entry of a rank-4 tensor, an axis of extent 1 standing for every index.
template <class T>
T broadcast_at(const Tensor<T>& t, std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
  const auto along = [&](std::size_t axis, std::size_t index) { return t.shape(axis) == 1 ? 0 : index; };
  return t(along(0, b), along(1, h), along(2, i), along(3, j));
}

/// Refuses a tensor that does not broadcast to the extents: SHP.C3.
template <class T>
void require_broadcasts(const Tensor<T>& t, const Shape& extents, std::string_view name) {
  bool fits = t.dimension() == extents.size();
  for (std::size_t axis = 0; fits && axis < extents.size(); ++axis) {
    fits = t.shape(axis) == 1 || t.shape(axis) == extents[axis];
  }
  const Shape shape(t.shape().begin(), t.shape().end());
  require(fits, "SHP.C3", "{}: shape {} does not broadcast to {}", name, to_string(shape), to_string(extents));
}

}  // namespace attest
