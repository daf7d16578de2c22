#pragma once
/// Chapter 09 (INI): first values of the parameters of a layer. An initial value is a real number, a formula in a seed
/// and an index, rounded once: its bits do not depend on anybody's mathematical library.

#include <optional>
#include <variant>

#include "attest/definitions/dropout.hpp"

namespace attest {

/// How the entries of a weight are drawn.
enum class Scheme { zeros, xavier_uniform, xavier_normal, kaiming_uniform, kaiming_normal };

/// Whether the entries are spread evenly over an interval, rather than normally.
constexpr bool is_uniform(Scheme scheme) {
  return scheme == Scheme::xavier_uniform || scheme == Scheme::kaiming_uniform;
}

/// How many inputs an output of a weight reads, and how many outputs read an input.
struct Fans {
  std::size_t in;
  std::size_t out;
};

/// INI.D1  fans_of((m, n)) = (m, n): a projection is x W, so the rows of W are inputs and its columns outputs. Refuses
/// what is no matrix or has an extent of 0: INI.C1.
Fans fans_of(const Shape& shape);

/// INI.D2  spread_of(scheme, fans): the bound of the interval of a uniform scheme, the standard deviation of a normal
/// one, 0 for zeros.
template <Scalar T>
T spread_of(Scheme scheme, const Fans& fans) {
  const T in = lift<T>(static_cast<double>(fans.in)), out = lift<T>(static_cast<double>(fans.out));
  switch (scheme) {
    case Scheme::zeros: break;
    case Scheme::xavier_uniform: return sqrt(T(T(6) / (in + out)));
    case Scheme::xavier_normal: return sqrt(T(T(2) / (in + out)));
    case Scheme::kaiming_uniform: return sqrt(T(T(6) / in));
    case Scheme::kaiming_normal: return sqrt(T(T(2) / in));
  }
  return T(0);
}

/// INI.D3  unit_uniform(x, y) = (2 m + 1) / 2^53 with m = 2^20 x + floor(y / 2^12): 2^52 numbers between 0 and 1,
/// symmetric about 1/2, each a binary64.
double unit_uniform(std::uint32_t high, std::uint32_t low);

/// INI.D3  with the words 2n and 2n + 1 of a seed.
double unit_uniform_at(std::uint64_t seed, std::uint64_t n);

/// INI.D4  standard_normal(u, v) = sqrt(-2 ln u) cos(2 pi v) (Box and Muller 1958), enclosed.
Enclosure standard_normal(double u, double v);

/// INI.D5  initial_value(scheme, fans, seed, n): the spread times 2 u_n - 1, or times the normal of u_2n and u_2n+1,
/// rounded to the nearest binary64.
double initial_value(Scheme scheme, const Fans& fans, std::uint64_t seed, std::uint64_t n);

/// The entries of a weight in row-major order: INI.D5 at n = 0, 1, ... Zeros may have any shape.
Tensor<double> initial_tensor(Scheme scheme, const Shape& shape, std::uint64_t seed);

#define ATTEST_INITIALISATION(KEYWORD, T) KEYWORD template T spread_of(Scheme, const Fans&);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_INITIALISATION, extern)

}  // namespace attest
