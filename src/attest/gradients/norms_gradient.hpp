#pragma once
/// Chapter 13 (GRD): the gradients of chapter 11.

#include "attest/definitions/norms.hpp"

namespace attest {

/// What a norm of a row makes of a cotangent of its result. A parameter that the norm does not have has no gradient:
/// its vector is empty.
template <class T>
struct NormGradient {
  Vector<T> row;
  Vector<T> gamma;
  Vector<T> beta;
};

/// The vector where the parameter is there, and an empty one where it is not.
template <class T>
Vector<T> if_present(const std::optional<Row<T>>& parameter, Vector<T> gradient) {
  return parameter ? std::move(gradient) : Vector<T>::from_shape({0});
}

/// GRD.D18  rms_norm_gradient(x, g): with the root r = sqrt(mean_square(x) + epsilon), y = x / r and z = g gamma,
/// dx_c = (z_c - y_c * (1/n) sum_k z_k y_k) / r and dgamma_c = g_c y_c.
template <Scalar T>
NormGradient<T> rms_norm_gradient(Row<T> row, std::optional<Row<T>> gamma, const T& epsilon, Row<T> g) {
  require_width(std::optional<Row<T>>(g), row.size(), "g");
  const T root = sqrt(T(mean_square(row) + epsilon));
  const Vector<T> y = rms_norm(row, std::optional<Row<T>>(), epsilon);
  const Vector<T> z = tabulate(row.size(), [&](std::size_t c) -> T { return gamma ? T(g[c] * (*gamma)[c]) : g[c]; });
  const T along = dot(row_of(z), row_of(y)) / T(static_cast<int>(row.size()));
  return {tabulate(row.size(), [&](std::size_t c) -> T { return (z(c) - y(c) * along) / root; }),
          if_present(gamma, tabulate(row.size(), [&](std::size_t c) -> T { return g[c] * y(c); })),
          Vector<T>::from_shape({0})};
}

/// GRD.D19  layer_norm_gradient(x, g) = centred(the gradient of the root mean square norm at centred(x)), by NRM.P6:
/// the gradient of x - mean(x) is g - mean(g). dbeta_c = g_c.
template <Scalar T>
NormGradient<T> layer_norm_gradient(Row<T> row, std::optional<Row<T>> gamma, std::optional<Row<T>> beta,
                                    const T& epsilon, Row<T> g) {
  const Vector<T> deviations = centred(row);
  const NormGradient<T> inner = rms_norm_gradient(row_of(deviations), gamma, epsilon, g);
  return {centred(row_of(inner.row)), inner.gamma,
          if_present(beta, tabulate(g.size(), [&](std::size_t c) -> T { return g[c]; }))};
}

#define ATTEST_NORMS_GRADIENT(KEYWORD, T)                                                                              \
  KEYWORD template NormGradient<T> rms_norm_gradient(Row<T>, std::optional<Row<T>>, const T&, Row<T>);                 \
  KEYWORD template NormGradient<T> layer_norm_gradient(Row<T>, std::optional<Row<T>>, std::optional<Row<T>>, const T&, \
                                                       Row<T>);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_NORMS_GRADIENT, extern)

}  // namespace attest
