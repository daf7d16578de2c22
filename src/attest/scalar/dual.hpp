#pragma once
/// Dual numbers: a value and its tangent, the derivative along one direction. A definition read in them is its own
/// Jacobian-vector product, without a second copy of its text (Griewank and Walther 2008, chapter 3).

#include "attest/scalar/scalar.hpp"

namespace attest {

/// NUM.D8  Dual: value + tangent * epsilon with epsilon^2 = 0.
template <Scalar T>
struct Dual {
  T value;
  T tangent;

  Dual() : value(T(0)), tangent(T(0)) {}
  explicit Dual(int n) : value(T(n)), tangent(T(0)) {}
  Dual(T v, T t) : value(std::move(v)), tangent(std::move(t)) {}

  friend Dual operator+(const Dual& a, const Dual& b) { return {a.value + b.value, a.tangent + b.tangent}; }
  friend Dual operator-(const Dual& a, const Dual& b) { return {a.value - b.value, a.tangent - b.tangent}; }
  friend Dual operator-(const Dual& a) { return {-a.value, -a.tangent}; }
  friend Dual operator*(const Dual& a, const Dual& b) {
    return {a.value * b.value, a.tangent * b.value + a.value * b.tangent};
  }
  friend Dual operator/(const Dual& a, const Dual& b) {
    const T quotient = a.value / b.value;
    return {quotient, (a.tangent - quotient * b.tangent) / b.value};
  }
  friend Dual exp(const Dual& a) {
    const T y = exp(a.value);
    return {y, y * a.tangent};
  }
  friend Dual log(const Dual& a) { return {log(a.value), a.tangent / a.value}; }
  friend Dual tanh(const Dual& a) {
    const T y = tanh(a.value);
    return {y, (T(1) - y * y) * a.tangent};
  }
  friend Dual sqrt(const Dual& a) {
    const T y = sqrt(a.value);
    return {y, a.tangent / (y + y)};
  }
  friend Dual sin(const Dual& a) { return {sin(a.value), cos(a.value) * a.tangent}; }
  friend Dual cos(const Dual& a) { return {cos(a.value), -(sin(a.value) * a.tangent)}; }
};

/// A number of a file is a constant, and so is the point that softmax subtracts: no result depends on it (SMX.P5).
template <Scalar T>
struct Arithmetic<Dual<T>> {
  static Dual<T> lift(double x) { return {Arithmetic<T>::lift(x), T(0)}; }
  static Dual<T> shift_of(std::span<const Dual<T>> row) {
    std::vector<T> values;
    for (const Dual<T>& x : row) values.push_back(x.value);
    return {Arithmetic<T>::shift_of(values), T(0)};
  }
  static Dual<T> where_positive(const Dual<T>& x, const Dual<T>& y) {
    return {Arithmetic<T>::where_positive(x.value, y.value), Arithmetic<T>::where_positive(x.value, y.tangent)};
  }
  static Dual<T> positive_part(const Dual<T>& x) {
    return {Arithmetic<T>::positive_part(x.value), Arithmetic<T>::where_positive(x.value, x.tangent)};
  }
  static Dual<T> absolute(const Dual<T>& x) {
    return {Arithmetic<T>::absolute(x.value),
            Arithmetic<T>::where_positive(x.value, x.tangent) - Arithmetic<T>::where_positive(T(-x.value), x.tangent)};
  }
};

}  // namespace attest
