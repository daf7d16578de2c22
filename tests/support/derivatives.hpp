#pragma once
/// A function of some numbers against its gradient, and the pieces of a list of numbers that such a function reads.

#include "support/gradients.hpp"

namespace attest {

using Numbers = std::vector<double>;

/// The point x + s t, coordinate by coordinate.
inline Vector<Enclosure> moved(const Numbers& x, const Numbers& t, const Enclosure& s) {
  return tabulate(x.size(), [&](std::size_t n) -> Enclosure { return Enclosure(x[n]) + s * Enclosure(t[n]); });
}

/// A function of some numbers and its gradient, both in generic arithmetic, against each other: the central quotient
/// meets the enclosure of <t, gradient> over the segment (mean value theorem), and <t, gradient> at x meets the tangent
/// of the function in dual numbers.
template <class F, class G>
void match(const Numbers& x, const Numbers& t, F&& function, G&& gradient_of) {
  const Enclosure h = step(), zero(0);
  const auto along = [&](const Enclosure& s) { return inner(t, gradient_of(moved(x, t, s))); };
  const Enclosure quotient = (function(moved(x, t, h)) - function(moved(x, t, -h))) / (h + h);
  const Enclosure over_segment = along(segment(h));
  RC_ASSERT(is_narrow(quotient) && is_narrow_over_a_segment(over_segment));
  RC_ASSERT(meet(quotient, over_segment));
  const Vector<Dual<Enclosure>> dual =
      tabulate(x.size(), [&](std::size_t n) { return Dual<Enclosure>(Enclosure(x[n]), Enclosure(t[n])); });
  RC_ASSERT(is_narrow(along(zero)) && meet(function(dual).tangent, along(zero)));
}

/// n numbers that are not small beside each other.
inline Numbers plain(std::size_t n) {
  const Tensor<double> t = *tensors({n}, -3);
  return Numbers(t.begin(), t.end());
}

inline Numbers joined(std::initializer_list<Numbers> parts) {
  Numbers all;
  for (const Numbers& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Entries first .. first + count - 1.
template <class T>
Row<T> part(const Vector<T>& x, std::size_t first, std::size_t count) {
  return row_of(x).subspan(first, count);
}

template <class T>
Matrix<T> matrix_part(const Vector<T>& x, std::size_t first, std::size_t rows, std::size_t columns) {
  return tabulate(rows, columns, [&](std::size_t i, std::size_t j) -> T { return x(first + i * columns + j); });
}

template <class T>
Vector<T> vector_part(const Vector<T>& x, std::size_t first, std::size_t count) {
  return tabulate(count, [&](std::size_t n) -> T { return x(first + n); });
}

/// <g, y> with constant g.
template <class T, class Y>
T product(const Numbers& g, const Y& y) {
  T total = T(0);
  auto of_y = y.begin();
  for (const double c : g) total = total + lift<T>(c) * *of_y++;
  return total;
}

/// Everything that the containers hold, in order.
template <class... C>
Vector<Enclosure> flat(const C&... containers) {
  std::vector<Enclosure> all;
  (all.insert(all.end(), containers.begin(), containers.end()), ...);
  return tabulate(all.size(), [&](std::size_t n) -> Enclosure { return all[n]; });
}

}  // namespace attest
