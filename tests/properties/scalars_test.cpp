/// Chapter 01: the arithmetics.

#include <boost/multiprecision/gmp.hpp>

#include "attest/scalar/arithmetics.hpp"
#include "support/property.hpp"

namespace attest {
namespace {

using rc::gen::inRange;
using Rational = boost::multiprecision::mpq_rational;

bool contains_exactly(const Enclosure& x, const Rational& value) {
  return mpfi_is_inside_q(value.backend().data(), x.backend().data()) > 0;
}

struct Quotient {
  std::int64_t numerator, denominator;

  Rational exact() const { return Rational(numerator) / denominator; }
  Enclosure enclosed() const {
    return lift<Enclosure>(static_cast<double>(numerator)) / lift<Enclosure>(static_cast<double>(denominator));
  }
};

std::ostream& operator<<(std::ostream& out, const Quotient& q) { return out << q.numerator << "/" << q.denominator; }

/// Of small integers, sometimes of integers with all the 53 bits of a binary64.
rc::Gen<Quotient> quotients() {
  return rc::gen::exec([] {
    const std::int64_t most = *rc::gen::element<std::int64_t>(9, 1000, (1L << 53) - 1);
    return Quotient{*inRange(-most, most + 1), *inRange<std::int64_t>(1, most + 1)};
  });
}

PROPERTY(NUM_P1, enclosures_contain_the_exact_rational) {
  const Quotient x = *quotients();
  const Quotient y = *quotients();
  RC_CLASSIFY(x.numerator == 0 || y.numerator == 0, "zero");
  with_precision(*rc::gen::element(2, 8, 53, 160, 1000), [&] {
    const Enclosure a = x.enclosed(), b = y.enclosed();
    RC_CLASSIFY(lower_end(a) == upper_end(a), "a point");
    RC_ASSERT(contains_exactly(a, x.exact()));
    RC_ASSERT(contains_exactly(Enclosure(a + b), x.exact() + y.exact()));
    RC_ASSERT(contains_exactly(Enclosure(a - b), x.exact() - y.exact()));
    RC_ASSERT(contains_exactly(Enclosure(a * b), x.exact() * y.exact()));
    if (y.numerator != 0) RC_ASSERT(contains_exactly(Enclosure(a / b), x.exact() / y.exact()));
    RC_ASSERT(contains_exactly(absolute(a), abs(x.exact())));
    RC_ASSERT(contains_exactly(positive_part(a), std::max(x.exact(), Rational(0))));
  });
}

/// One operation of NUM.D1 on a running value x and a number y > 0, arranged so that nothing overflows or cancels.
template <Scalar T>
T step(int operation, const T& x, const T& y) {
  const T both[] = {x, y};
  switch (operation) {
    case 0: return absolute(x) + y;
    case 1: return -absolute(x) - y;
    case 2: return x * y;
    case 3: return x / y;
    case 4: return -x;
    case 5: return exp(T(-absolute(x)));
    case 6: return log(T(T(2) + absolute(x)));
    case 7: return tanh(x);
    case 8: return sqrt(absolute(x));
    case 9: return positive_part(x);
    default: return shift_of(Row<T>(both));
  }
}

/// A step of an expression: which operation, and with which number.
using Step = std::pair<int, double>;

template <Scalar T>
T evaluate(const std::vector<Step>& expression) {
  T x = T(1);
  for (const auto& [operation, y] : expression) x = step(operation, x, lift<T>(y));
  return x;
}

/// A wide value as an enclosure that contains it.
Enclosure enclosed(Wide w) {
  Enclosure sum(0);
  for (int part = 0; part < 4; ++part) {
    const double leading = static_cast<double>(w);
    sum = sum + Enclosure(leading);
    w = w - leading;
  }
  return sum;
}

PROPERTY(NUM_P2, enclosure_meets_the_wide_value) {
  const auto numbers = rc::gen::map(inRange(1, 9), [](int n) { return n / 4.0; });
  const auto steps = rc::gen::pair(inRange(0, 11), numbers);
  const auto expression = *rc::gen::container<std::vector<Step>>(*inRange(1, 7), steps);
  with_precision(256, [&] {
    const Enclosure proved = evaluate<Enclosure>(expression);
    const Enclosure believed = enclosed(evaluate<Wide>(expression));
    const Enclosure slack = absolute(believed) * Enclosure(0x1p-180);
    RC_CLASSIFY(contains(proved, 0), "zero");
    RC_ASSERT(is_narrow(proved));
    RC_ASSERT(meet(proved, hull(believed - slack, believed + slack)));
  });
}

/// An inexact expression.
Enclosure third() { return lift<Enclosure>(1) / lift<Enclosure>(3); }

Point width(const Enclosure& x) { return upper_end(x) - lower_end(x); }

PROPERTY(NUM_P3, precision_scope_sets_the_width) {
  const int bits = *inRange(2, 4000);
  const int more = bits + *inRange(8, 100);
  RC_CLASSIFY(bits < 53, "fewer bits than a binary64");
  const auto before = mpfi_get_prec(third().backend().data());
  const Enclosure coarse = with_precision(bits, third);
  const Enclosure fine = with_precision(more, third);
  const Enclosure inner = with_precision(bits, [&] { return with_precision(more, third) + lift<Enclosure>(0); });
  RC_ASSERT(mpfi_get_prec(coarse.backend().data()) >= static_cast<mpfr_prec_t>(bits));
  RC_ASSERT(mpfi_get_prec(fine.backend().data()) >= static_cast<mpfr_prec_t>(more));
  RC_ASSERT(width(fine) < width(coarse));
  RC_ASSERT(width(inner) == width(fine));
  RC_ASSERT_THROWS_AS(with_precision(more, [] { return lift<Enclosure>(std::nan("")); }), Refused);
  RC_ASSERT(mpfi_get_prec(third().backend().data()) == before);
}

}  // namespace
}  // namespace attest
