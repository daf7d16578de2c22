/// Chapter 18: what a running error is refused for, and in which words.

#include "attest/certify/running_error.hpp"

#include "support/refusal.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

/// What the running errors of f(x) and of its derivative are refused with.
template <class F>
std::string refusal_at(double x, F&& f) {
  const auto [tape, y] = record([&] { return f(Recorded::input()); });
  return refusal_of([&, tape = tape, y = y] { computed_derivatives(tape, computed_steps(tape, std::span(&x, 1)), y); });
}

CONSTRAINT(BND_C4, an_operation_has_a_rule_for_its_roundings) {
  const std::string sentence =
      "BND.C4: an operation with a rule for its roundings, got tanh, sin, cos, absolute or where_positive";
  EXPECT_EQ(refusal_at(1, [](Recorded x) { return tanh(x); }), sentence);
  EXPECT_EQ(refusal_at(1, [](Recorded x) { return sin(x); }), sentence);
  EXPECT_EQ(refusal_at(1, [](Recorded x) { return cos(x); }), sentence);
  EXPECT_EQ(refusal_at(1, [](Recorded x) { return absolute(x); }), sentence);
  EXPECT_EQ(refusal_at(1, [](Recorded x) { return where_positive(x, x); }), sentence);
  EXPECT_EQ(refusal_at(1, [](Recorded x) { return log(exp(x) / sqrt(x)) - positive_part(x) * x + x; }), "");
}

CONSTRAINT(BND_C5, numbers_of_a_whole_computation_are_moderate) {
  const std::string sentence = "BND.C5: numbers, derivatives and reciprocals of divisors within 2^64, got ";
  const auto refused = [&](double x, auto f) { return refusal_at(x, f).starts_with(sentence); };
  EXPECT_FALSE(refused(0x1p31, [](Recorded x) { return x + x * x; }));
  EXPECT_TRUE(refused(0x1p65, [](Recorded x) { return x; }));
  EXPECT_TRUE(refused(0x1p33, [](Recorded x) { return x * x; }));
  EXPECT_TRUE(refused(45, [](Recorded x) { return exp(x); }));
  EXPECT_TRUE(refused(0x1p-65, [](Recorded x) { return x / x; }));
  EXPECT_TRUE(refused(0, [](Recorded x) { return Recorded(1) / x; }));
  EXPECT_TRUE(refused(-1, [](Recorded x) { return log(x); }));
  EXPECT_TRUE(refused(-1, [](Recorded x) { return sqrt(x); }));
  EXPECT_TRUE(refused(0.1, [](Recorded x) { return Recorded(1) / (x * x * x - x * (x * x)); }));  // 0 in the reals
  EXPECT_FALSE(refused(0x1p-60, [](Recorded x) { return log(x); }));
  EXPECT_TRUE(refused(0x1p-60, [](Recorded x) { return Recorded(1024) * log(x); }));  // a derivative
}

TEST(Recorded, stands_in_a_recording) {
  EXPECT_THROW(Recorded(1), CannotAnswer);
  const auto [tape, steps] = record([] {
    const Recorded before(1);
    const auto [inner, of_inner] = record([] { return Recorded(2) + Recorded(3); });
    return std::array{before, Recorded(4), of_inner};
  });
  EXPECT_EQ(tape.steps.size(), 3u);
  EXPECT_EQ(steps[2].step, 3u);
}

}  // namespace
}  // namespace attest
