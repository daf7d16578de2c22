#pragma once
/// Chapter 10 (POS): how a token is told its place: encodings that are added or concatenated, rotations of queries and
/// keys, and the slopes of a bias that grows with distance (the bias itself is ATT.D9).

#include <bit>
#include <cstdint>

#include "attest/scalar/arithmetics.hpp"
#include "attest/tensor/tensor.hpp"

namespace attest {

/// Which channels rotate together: n and n + r/2, or 2n and 2n + 1.
enum class Pairing { halves, interleaved };

/// Refuses a base that is no positive real number: POS.C6.
void require_base(double base);

/// Refuses an odd number of rotated channels: POS.C1.
void require_even(std::size_t rotated);

/// POS.D1  frequency(n, w, base) = base^(-2n/w) = exp(-(2n/w) ln base); exactly 1 at n = 0.
template <Scalar T>
T frequency(std::size_t n, std::size_t width, double base) {
  require_base(base);
  const T exponent = T(static_cast<int>(2 * n)) / T(static_cast<int>(width));
  return exp(T(-exponent * log(lift<T>(base))));
}

/// POS.D11  angle(p, n, w, base) = p * frequency(n, w, base)
template <Scalar T>
T angle(std::int64_t position, std::size_t n, std::size_t width, double base) {
  return lift<T>(static_cast<double>(position)) * frequency<T>(n, width, base);
}

/// POS.D2  sinusoidal(p, 2n) = sin(angle(p, n)), sinusoidal(p, 2n + 1) = cos(angle(p, n))
template <Scalar T>
T sinusoidal(std::int64_t position, std::size_t c, std::size_t width, double base) {
  const T a = angle<T>(position, c / 2, width, base);
  return c % 2 == 0 ? T(sin(a)) : T(cos(a));
}

/// POS.D2  as a matrix: row p holds the encoding of position p.
template <Scalar T>
Matrix<T> sinusoidal_encoding(std::size_t positions, std::size_t width, double base) {
  return tabulate(positions, width, [&](std::size_t p, std::size_t c) {
    return sinusoidal<T>(static_cast<std::int64_t>(p), c, width, base);
  });
}

/// POS.D3  add_positions(X, P)_ic = X_ic + P_ic
template <Scalar T>
Matrix<T> add_positions(const Matrix<T>& tokens, const Matrix<T>& positions) {
  require(tokens.shape() == positions.shape(), "POS.C5", "positions: shape ({}, {}), got ({}, {})", tokens.shape(0),
          tokens.shape(1), positions.shape(0), positions.shape(1));
  return tabulate(tokens.shape(0), tokens.shape(1),
                  [&](std::size_t i, std::size_t c) -> T { return tokens(i, c) + positions(i, c); });
}

/// POS.D4  concatenate_positions(X, P)_ic = X_ic for c < d, P_i,c-d from there on
template <Scalar T>
Matrix<T> concatenate_positions(const Matrix<T>& tokens, const Matrix<T>& positions) {
  require(tokens.shape(0) == positions.shape(0), "POS.C5", "positions: a row for each of the {} tokens, got {}",
          tokens.shape(0), positions.shape(0));
  const std::size_t width = tokens.shape(1);
  return tabulate(tokens.shape(0), width + positions.shape(1), [&](std::size_t i, std::size_t c) -> T {
    return c < width ? tokens(i, c) : positions(i, c - width);
  });
}

/// The two coordinates of a rotated pair.
template <class T>
struct Pair {
  T x;
  T y;
};

/// POS.D5  rotate_pair(x, y) = (x cos - y sin, x sin + y cos)
template <Scalar T>
Pair<T> rotate_pair(const T& x, const T& y, const T& cosine, const T& sine) {
  return {x * cosine - y * sine, x * sine + y * cosine};
}

/// The channels of pair n of `pairs`.
constexpr Pair<std::size_t> channels_of(std::size_t n, std::size_t pairs, Pairing pairing) {
  return pairing == Pairing::halves ? Pair<std::size_t>{n, n + pairs} : Pair<std::size_t>{2 * n, 2 * n + 1};
}

/// POS.D6  rotary(x): pair n of the first r = 2 * #cosines channels is turned by cos_n, sin_n; the rest is copied.
template <Scalar T>
Vector<T> rotary(Row<T> row, Row<T> cosines, Row<T> sines, Pairing pairing) {
  const std::size_t pairs = cosines.size();
  require(sines.size() == pairs, "POS.C2", "sines: one for each of the {} cosines, got {}", pairs, sines.size());
  require(2 * pairs <= row.size(), "POS.C1", "rotated channels: at most the width {}, got {}", row.size(), 2 * pairs);
  Vector<T> rotated = tabulate(row.size(), [&](std::size_t c) -> T { return row[c]; });
  for (std::size_t n = 0; n < pairs; ++n) {
    const auto [first, second] = channels_of(n, pairs, pairing);
    const auto [x, y] = rotate_pair(row[first], row[second], cosines[n], sines[n]);
    rotated(first) = x;
    rotated(second) = y;
  }
  return rotated;
}

/// The cosines and sines of positions 0, 1, ...: two matrices of shape (positions, r/2).
template <class T>
struct RotaryCache {
  Matrix<T> cosines;
  Matrix<T> sines;
};

/// POS.D7  rotary_cache: cosines_pn = cos(angle(p, n, r, base)), sines_pn = sin(angle(p, n, r, base))
template <Scalar T>
RotaryCache<T> rotary_cache(std::size_t positions, std::size_t rotated, double base) {
  require_even(rotated);
  const auto at = [&](std::size_t p, std::size_t n) {
    return angle<T>(static_cast<std::int64_t>(p), n, rotated, base);
  };
  return {tabulate(positions, rotated / 2, [&](std::size_t p, std::size_t n) -> T { return cos(at(p, n)); }),
          tabulate(positions, rotated / 2, [&](std::size_t p, std::size_t n) -> T { return sin(at(p, n)); })};
}

/// The row of a cache at a position id. Refuses one outside the cache: POS.C3.
template <class T>
Row<T> cache_row(const Matrix<T>& cache, std::int64_t position) {
  require(position >= 0 && static_cast<std::size_t>(position) < cache.shape(0), "POS.C3",
          "position_ids: at least 0 and below the {} positions of the cache, got {}", cache.shape(0), position);
  return row_of(cache, static_cast<std::size_t>(position));
}

/// POS.D12  cached_rotary(x, cache, p) = rotary(x, row p of the cosines, row p of the sines)
template <Scalar T>
Vector<T> cached_rotary(Row<T> row, const RotaryCache<T>& cache, std::int64_t position, Pairing pairing) {
  return rotary(row, cache_row(cache.cosines, position), cache_row(cache.sines, position), pairing);
}

/// POS.D10  rotary_at(x, p): rotary with the angles of position p, among them the first r channels.
template <Scalar T>
Vector<T> rotary_at(Row<T> row, std::int64_t position, double base, Pairing pairing, std::size_t rotated) {
  require_even(rotated);
  const Vector<T> angles =
      tabulate(rotated / 2, [&](std::size_t n) -> T { return angle<T>(position, n, rotated, base); });
  const Vector<T> cosines = tabulate(angles.size(), [&](std::size_t n) -> T { return cos(angles(n)); });
  const Vector<T> sines = tabulate(angles.size(), [&](std::size_t n) -> T { return sin(angles(n)); });
  return rotary(row, row_of(cosines), row_of(sines), pairing);
}

/// POS.D8  geometric_slope(h, H) = 2^(-8(h+1)/H): the whole part of the exponent by halving, so that it costs no
/// rounding.
template <Scalar T>
T geometric_slope(std::size_t h, std::size_t heads) {
  require(heads > 0, "POS.C4", "heads: at least 1, got {}", heads);
  const std::size_t eighths = 8 * (h + 1);
  const T fraction = T(static_cast<int>(eighths % heads)) / T(static_cast<int>(heads));
  T slope = exp(T(-fraction * log(T(2))));
  for (std::size_t n = 0; n < eighths / heads; ++n) slope = slope / T(2);
  return slope;
}

/// POS.D9  alibi_slope(h, H): with P the greatest power of two up to H, geometric_slope(h, P) for h < P, and every
/// other slope of 2P heads from there on.
template <Scalar T>
T alibi_slope(std::size_t h, std::size_t heads) {
  require(heads > 0, "POS.C4", "heads: at least 1, got {}", heads);
  const std::size_t power = std::bit_floor(heads);
  return h < power ? geometric_slope<T>(h, power) : geometric_slope<T>(2 * (h - power), 2 * power);
}

/// POS.D9  as a vector, one slope for each head.
template <Scalar T>
Vector<T> alibi_slopes(std::size_t heads) {
  require(heads > 0, "POS.C4", "heads: at least 1, got {}", heads);
  return tabulate(heads, [&](std::size_t h) -> T { return alibi_slope<T>(h, heads); });
}

/// POS.D13  alibi_by_key(j) = slope * j: the bias of ATT.D9 without the position of the query.
template <Scalar T>
T alibi_by_key(const T& slope, std::int64_t j) {
  return slope * lift<T>(static_cast<double>(j));
}

#define ATTEST_POSITIONS(KEYWORD, T)                                                              \
  KEYWORD template T frequency<T>(std::size_t, std::size_t, double);                              \
  KEYWORD template T angle<T>(std::int64_t, std::size_t, std::size_t, double);                    \
  KEYWORD template T sinusoidal<T>(std::int64_t, std::size_t, std::size_t, double);               \
  KEYWORD template Matrix<T> sinusoidal_encoding<T>(std::size_t, std::size_t, double);            \
  KEYWORD template Matrix<T> add_positions(const Matrix<T>&, const Matrix<T>&);                   \
  KEYWORD template Matrix<T> concatenate_positions(const Matrix<T>&, const Matrix<T>&);           \
  KEYWORD template Pair<T> rotate_pair(const T&, const T&, const T&, const T&);                   \
  KEYWORD template Vector<T> rotary(Row<T>, Row<T>, Row<T>, Pairing);                             \
  KEYWORD template RotaryCache<T> rotary_cache<T>(std::size_t, std::size_t, double);              \
  KEYWORD template Vector<T> cached_rotary(Row<T>, const RotaryCache<T>&, std::int64_t, Pairing); \
  KEYWORD template Vector<T> rotary_at(Row<T>, std::int64_t, double, Pairing, std::size_t);       \
  KEYWORD template T geometric_slope<T>(std::size_t, std::size_t);                                \
  KEYWORD template T alibi_slope<T>(std::size_t, std::size_t);                                    \
  KEYWORD template Vector<T> alibi_slopes<T>(std::size_t);                                        \
  KEYWORD template T alibi_by_key(const T&, std::int64_t);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_POSITIONS, extern)

}  // namespace attest
