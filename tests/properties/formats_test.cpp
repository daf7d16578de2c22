/// Chapter 16: the formats and how a real is rounded to one.

#include "attest/scalar/format.hpp"
#include "attest/scalar/rounded.hpp"
#include "support/property.hpp"
#include "support/reals.hpp"

namespace attest {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::string name_of(Format format) { return std::string(parameters(format).name); }

void agrees_with_mpfr(const Real& real, Overflow rule) {
  RC_ASSERT(same_value(round_to(real.format, real.x, rule), rounded_by_mpfr(real.format, rule, real.x)));
  const double nearest = static_cast<double>(real.x);
  if (std::isinf(nearest)) return;
  RC_ASSERT(same_value(round_to(real.format, nearest, rule), rounded_by_mpfr(real.format, rule, Point(nearest))));
}

PROPERTY(FMT_P1, rounding_agrees_with_mpfr) {
  const Format format = *formats();
  std::set<std::string> classes;
  for (int n = 0; n < 12; ++n) {
    const Real real = *reals(format);
    classes.merge(classes_of(real));
    agrees_with_mpfr(real, Overflow::standard);
    agrees_with_mpfr(real, Overflow::saturate);
  }
  for (const std::string& name : classes) RC_TAG(name);
}

/// The value of a code where the machine has the format: bf16 is the upper half of f32.
std::optional<double> value_by_machine(Format format, std::uint64_t code) {
  if (format == Format::f64) return std::bit_cast<double>(code);
  if (format == Format::f32) return std::bit_cast<float>(static_cast<std::uint32_t>(code));
  if (format == Format::bf16) return std::bit_cast<float>(static_cast<std::uint32_t>(code << 16));
  return std::nullopt;
}

PROPERTY(FMT_P2, decode_after_encode_is_the_value) {
  const Format format = *formats();
  const double end = parameters(format).has_infinity ? infinity : 0;
  const double value = *rc::gen::oneOf(values(format), values(format), rc::gen::element(end, -end, std::nan("")));
  const std::uint64_t code = encode(format, value);
  RC_TAG(name_of(format));
  RC_CLASSIFY(!std::isfinite(value), "infinity or NaN");
  RC_ASSERT((code >> (parameters(format).bits - 1)) <= 1);
  RC_ASSERT(same_value(decode(format, code), value));
  RC_ASSERT(same_value(value_by_machine(format, code).value_or(value), value));
}

PROPERTY(FMT_P3, rounding_is_monotone_and_idempotent) {
  const Real real = *reals();
  const Point close = real.x + abs(real.x) * ldexp(Point(1), -*rc::gen::element(60, 100));
  const Point other = (*rc::gen::oneOf(reals(real.format), rc::gen::just(Real{real.format, close}))).x;
  for (const std::string& name : classes_of(real)) RC_TAG(name);
  for (const Overflow rule : {Overflow::standard, Overflow::saturate}) {
    const double a = round_to(real.format, real.x, rule);
    const double b = round_to(real.format, other, rule);
    const bool in_order = real.x < other ? place(a, real.x) <= place(b, other) : place(b, other) <= place(a, real.x);
    RC_ASSERT(in_order);
    RC_ASSERT(is_value_of(real.format, a));
    RC_ASSERT(same_value(round_to(real.format, a, rule), a));
  }
}

PROPERTY(FMT_P4, neighbours_are_one_step_apart) {
  const Format format = *formats();
  const FormatParameters f = parameters(format);
  const double value = *magnitudes(format);
  const Point above = value + step_at(format, value);
  const double next = above <= f.largest ? static_cast<double>(above) : infinity;
  RC_TAG(name_of(format));
  RC_CLASSIFY(std::isinf(next), "largest");
  RC_CLASSIFY(value < std::ldexp(1.0, f.min_exponent), "below the smallest normal");
  RC_ASSERT(is_value_of(format, value));
  RC_ASSERT(is_value_of(format, next) || !f.has_infinity);
  RC_ASSERT(ordinal(format, next) == ordinal(format, value) + 1);
  RC_ASSERT(ordinal(format, -value) == -ordinal(format, value));
  RC_ASSERT(steps_between(format, value, next) == 1u);
  RC_ASSERT(steps_between(format, -next, -value) == 1u);
  const double other = *values(format);
  RC_ASSERT((ordinal(format, value) < ordinal(format, other)) == (value < other));
  RC_ASSERT(steps_between(format, value, other) == steps_between(format, other, value));
}

/// One operation in the emulated format, and the same by MPFR.
template <Format F>
void same_result(Rounded<F> emulated, int (*operation)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t), const Point& a,
                 const Point& b) {
  RC_ASSERT(same_value(emulated.value, computed_by_mpfr(F, Overflow::standard, [&](mpfr_ptr result) {
                         return operation(result, a.backend().data(), b.backend().data(), MPFR_RNDN);
                       })));
}

/// b is often of about the size of a, so that their sum has something to round.
template <Format F>
void arithmetic_is_correctly_rounded() {
  const auto operands = rc::gen::oneOf(values(F), values(F), rc::gen::element(1.0, -infinity, infinity));
  const Rounded<F> a(*operands);
  const double other = *operands;
  int exponent;
  const Rounded<F> b(*rc::gen::arbitrary<bool>() ? other : std::frexp(other, &exponent) * a.value);
  RC_CLASSIFY(std::isnan(a.value / b.value), "not a number");
  RC_CLASSIFY((a + b).value != a.value + b.value, "an inexact sum");
  const Point x(a.value), y(b.value);
  same_result(a + b, mpfr_add, x, y);
  same_result(a - b, mpfr_sub, x, y);
  same_result(a * b, mpfr_mul, x, y);
  same_result(a / b, mpfr_div, x, y);
  RC_ASSERT(same_value(sqrt(a).value, computed_by_mpfr(F, Overflow::standard, [&](mpfr_ptr result) {
                         return mpfr_sqrt(result, x.backend().data(), MPFR_RNDN);
                       })));
}

PROPERTY(FMT_P5, rounded_arithmetic_is_correctly_rounded) {
  const Format format = *rc::gen::suchThat(formats(), [](Format f) { return f != Format::f64; });
  RC_TAG(name_of(format));
  switch (format) {
    case Format::f64: break;  // the machine's own
    case Format::f32: return arithmetic_is_correctly_rounded<Format::f32>();
    case Format::f16: return arithmetic_is_correctly_rounded<Format::f16>();
    case Format::bf16: return arithmetic_is_correctly_rounded<Format::bf16>();
    case Format::f8e4m3: return arithmetic_is_correctly_rounded<Format::f8e4m3>();
    case Format::f8e5m2: return arithmetic_is_correctly_rounded<Format::f8e5m2>();
  }
}

/// Whether the code of a number comes back, and a NaN as the canonical one.
bool round_trips(std::uint64_t code) {
  const double value = decode(Format::f16, code);
  const std::uint64_t due = std::isnan(value) ? 0x7e00 : code;
  return encode(Format::f16, value) == due && same_value(round_to(Format::f16, value), value);
}

PROPERTY(FMT_P6, every_f16_code_round_trips) {
  static const bool every = [] {
    std::uint64_t code = 0;
    while (code < 0x10000 && round_trips(code)) ++code;
    return code == 0x10000;
  }();
  RC_ASSERT(every);
}

}  // namespace
}  // namespace attest
