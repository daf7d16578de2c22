#include "attest/scalar/enclosure.hpp"

#include "attest/scalar/error.hpp"

namespace attest {

namespace {

/// Decimal digits that give at least this many bits: Boost counts precision in digits (log10(2) < 302/1000).
unsigned digits_for(int bits) { return static_cast<unsigned>(bits) * 302 / 1000 + 1; }

Point point(mpfr_srcptr x) {
  Point p;
  mpfr_set_prec(p.backend().data(), mpfr_get_prec(x));
  mpfr_set(p.backend().data(), x, MPFR_RNDN);
  return p;
}

}  // namespace

Point lower_end(const Enclosure& x) { return point(&x.backend().data()->left); }
Point upper_end(const Enclosure& x) { return point(&x.backend().data()->right); }

bool meet(const Enclosure& a, const Enclosure& b) {
  return lower_end(a) <= upper_end(b) && lower_end(b) <= upper_end(a);
}

bool contains(const Enclosure& x, double value) { return mpfi_is_inside_d(value, x.backend().data()) > 0; }

Enclosure hull(const Enclosure& a, const Enclosure& b) {
  Enclosure both;
  mpfi_union(both.backend().data(), a.backend().data(), b.backend().data());
  return both;
}

Enclosure Arithmetic<Enclosure>::lift(double x) {
  require(std::isfinite(x), "NUM.C1", "an enclosure needs a finite value, got {}", x);
  return Enclosure(x);
}

Enclosure Arithmetic<Enclosure>::shift_of(std::span<const Enclosure> row) {
  Point highest = median(row.front());
  for (const Enclosure& x : row) {
    const Point middle = median(x);
    if (highest < middle) highest = middle;
  }
  return Enclosure(highest);
}

Enclosure Arithmetic<Enclosure>::positive_part(const Enclosure& x) {
  const Enclosure zero(0);
  if (lower_end(x) >= 0) return x;
  if (upper_end(x) <= 0) return zero;
  return hull(zero, Enclosure(upper_end(x)));
}

Enclosure Arithmetic<Enclosure>::absolute(const Enclosure& x) {
  Enclosure result;
  mpfi_abs(result.backend().data(), x.backend().data());
  return result;
}

Enclosure Arithmetic<Enclosure>::where_positive(const Enclosure& x, const Enclosure& y) {
  const Enclosure zero(0);
  if (lower_end(x) > 0) return y;
  if (upper_end(x) <= 0) return zero;
  return hull(zero, y);
}

PrecisionScope::PrecisionScope(int bits)
    : enclosure_digits_(Enclosure::thread_default_precision()), point_digits_(Point::thread_default_precision()) {
  require(bits >= 2 && bits <= (1 << 20), "NUM.C2", "precision in bits must lie in 2..2^20, got {}", bits);
  Enclosure::thread_default_precision(digits_for(bits));
  Point::thread_default_precision(digits_for(bits));
}

PrecisionScope::~PrecisionScope() {
  Enclosure::thread_default_precision(enclosure_digits_);
  Point::thread_default_precision(point_digits_);
}

}  // namespace attest
