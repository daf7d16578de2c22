#pragma once
/// Chapter 01 (NUM): what an arithmetic must provide so that the definitions can be read in it.
///
/// Every definition of attest is one template over `Scalar`. There is no `operator<` in the contract: intervals have
/// no total order. What the definitions need of one is named: `shift_of`, `positive_part`, `absolute`,
/// `where_positive`.

#include <cmath>
#include <concepts>
#include <span>
#include <vector>

namespace attest {

using std::cos;
using std::exp;
using std::log;
using std::sin;
using std::sqrt;
using std::tanh;

/// The operations beyond + - * / exp log tanh sqrt sin cos; specialised once per arithmetic.
template <class T>
struct Arithmetic;

/// Arithmetic alone: enough for sums, products and dropout, and all that exact rationals have.
template <class T>
concept Numeric = requires(T a, T b) {
  { a + b } -> std::convertible_to<T>;
  { a - b } -> std::convertible_to<T>;
  { a* b } -> std::convertible_to<T>;
  { a / b } -> std::convertible_to<T>;
  { -a } -> std::convertible_to<T>;
};

/// NUM.D1  Scalar: an arithmetic in which the definitions can be evaluated.
template <class T>
concept Scalar = Numeric<T> && requires(T a, double x, std::span<const T> row) {
  { exp(a) } -> std::convertible_to<T>;
  { log(a) } -> std::convertible_to<T>;
  { tanh(a) } -> std::convertible_to<T>;
  { sqrt(a) } -> std::convertible_to<T>;
  { sin(a) } -> std::convertible_to<T>;
  { cos(a) } -> std::convertible_to<T>;
  { Arithmetic<T>::lift(x) } -> std::same_as<T>;
  { Arithmetic<T>::shift_of(row) } -> std::same_as<T>;
  { Arithmetic<T>::positive_part(a) } -> std::same_as<T>;
  { Arithmetic<T>::absolute(a) } -> std::same_as<T>;
  { Arithmetic<T>::where_positive(a, a) } -> std::same_as<T>;
};

/// A scalar that also has infinities: what the additive -infinity deviation (SMX.D6) needs, and nothing else does.
template <class T>
concept ExtendedScalar = Scalar<T> && requires {
  { Arithmetic<T>::minus_infinity() } -> std::same_as<T>;
};

/// NUM.D2  lift(x) = x: a binary64 as a scalar. Exact, except that a format narrower than binary64 rounds.
template <Scalar T>
T lift(double x) {
  return Arithmetic<T>::lift(x);
}

/// NUM.D3  shift_of(row): the point that softmax subtracts. In the reals any point serves (SMX.P5); each arithmetic
/// picks one near the maximum so that no exponential overflows. The row is not empty.
template <Scalar T>
T shift_of(std::span<const T> row) {
  return Arithmetic<T>::shift_of(row);
}

/// NUM.D4  positive_part(x) = max(x, 0)
template <Scalar T>
T positive_part(const T& x) {
  return Arithmetic<T>::positive_part(x);
}

/// NUM.D5  absolute(x) = |x|
template <Scalar T>
T absolute(const T& x) {
  return Arithmetic<T>::absolute(x);
}

/// NUM.D7  where_positive(x, y) = y [x > 0]: the derivative of positive_part at x, times y. It is 0 at x = 0.
template <Scalar T>
T where_positive(const T& x, const T& y) {
  return Arithmetic<T>::where_positive(x, y);
}

/// The parts of `Arithmetic` that every totally ordered scalar shares.
template <class T>
struct OrderedArithmetic {
  static T shift_of(std::span<const T> row) {
    T highest = row.front();
    for (const T& x : row) {
      if (highest < x) highest = x;
    }
    return highest;
  }
  static T positive_part(const T& x) { return x < T(0) ? T(0) : x; }
  static T absolute(const T& x) { return x < T(0) ? T(-x) : x; }
  static T where_positive(const T& x, const T& y) { return T(0) < x ? y : T(0); }
};

}  // namespace attest
