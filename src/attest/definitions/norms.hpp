#pragma once
/// Chapter 11 (NRM): layer norm and root-mean-square norm of one row of channels.

#include <optional>

#include "attest/scalar/arithmetics.hpp"
#include "attest/tensor/tensor.hpp"

namespace attest {

/// Refuses an epsilon that is negative or not finite: NRM.C1. Called where an epsilon is read.
void require_epsilon(double epsilon);

/// Refuses a row without channels: NRM.C3.
void require_channels(std::size_t width);

/// Refuses a row whose norm would be 0/0: NRM.C4. Called before a row is enclosed; in `double` it is NaN.
void require_layer_norm_exists(Row<double> row, double epsilon);
void require_rms_norm_exists(Row<double> row, double epsilon);

/// NRM.D1  mean(x) = (1/n) sum_c x_c
template <Scalar T>
T mean(Row<T> row) {
  require_channels(row.size());
  return sum_over<T>(row.size(), [&](std::size_t c) { return row[c]; }) / T(static_cast<int>(row.size()));
}

/// NRM.D5  mean_square(x) = (1/n) sum_c x_c^2
template <Scalar T>
T mean_square(Row<T> row) {
  require_channels(row.size());
  return dot(row, row) / T(static_cast<int>(row.size()));
}

/// NRM.D6  centred(x)_c = x_c - mean(x)
template <Scalar T>
Vector<T> centred(Row<T> row) {
  const T m = mean(row);
  return tabulate(row.size(), [&](std::size_t c) -> T { return row[c] - m; });
}

/// NRM.D2  variance(x) = mean_square(centred(x)): divided by n, not by n - 1.
template <Scalar T>
T variance(Row<T> row) {
  const Vector<T> deviations = centred(row);
  return mean_square(row_of(deviations));
}

/// Refuses a gamma or beta whose width is not that of the row: NRM.C2.
template <class T>
void require_width(const std::optional<Row<T>>& parameter, std::size_t width, std::string_view name) {
  require(!parameter || parameter->size() == width, "NRM.C2", "{}: one entry for each of the {} channels, got {}", name,
          width, parameter ? parameter->size() : 0);
}

/// NRM.D3  layer_norm(x)_c = (x_c - mean(x)) / sqrt(variance(x) + epsilon) * gamma_c + beta_c
template <Scalar T>
Vector<T> layer_norm(Row<T> row, std::optional<Row<T>> gamma, std::optional<Row<T>> beta, const T& epsilon) {
  require_width(gamma, row.size(), "gamma");
  require_width(beta, row.size(), "beta");
  const T m = mean(row);
  const T deviation = sqrt(T(variance(row) + epsilon));
  return tabulate(row.size(), [&](std::size_t c) -> T {
    const T normed = (row[c] - m) / deviation;
    const T scaled = gamma ? T(normed * (*gamma)[c]) : normed;
    return beta ? T(scaled + (*beta)[c]) : scaled;
  });
}

/// NRM.D4  rms_norm(x)_c = x_c / sqrt(mean_square(x) + epsilon) * gamma_c
template <Scalar T>
Vector<T> rms_norm(Row<T> row, std::optional<Row<T>> gamma, const T& epsilon) {
  require_width(gamma, row.size(), "gamma");
  const T root = sqrt(T(mean_square(row) + epsilon));
  return tabulate(row.size(), [&](std::size_t c) -> T {
    const T normed = row[c] / root;
    return gamma ? T(normed * (*gamma)[c]) : normed;
  });
}

#define ATTEST_NORMS(KEYWORD, T)                                                                         \
  KEYWORD template T mean(Row<T>);                                                                       \
  KEYWORD template T mean_square(Row<T>);                                                                \
  KEYWORD template Vector<T> centred(Row<T>);                                                            \
  KEYWORD template T variance(Row<T>);                                                                   \
  KEYWORD template Vector<T> layer_norm(Row<T>, std::optional<Row<T>>, std::optional<Row<T>>, const T&); \
  KEYWORD template Vector<T> rms_norm(Row<T>, std::optional<Row<T>>, const T&);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_NORMS, extern)

}  // namespace attest
