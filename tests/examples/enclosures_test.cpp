/// Chapter 17: the examples.

#include "attest/certify/certify.hpp"
#include "attest/certify/certify_node.hpp"
#include "attest/definitions/attention.hpp"
#include "attest/verdict/certificate_claim.hpp"
#include "attest/verdict/compare.hpp"
#include "support/by_hand.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

constexpr double first = 0x1p+0, second = 0x1.800002p+0, third = 0x1.000002p-1;

EXAMPLE(ENC_E1, the_mean_of_three_equal_keys_is_decided_by_the_quotient) {
  Problem problem;
  problem.call.scale = 1;
  problem.inputs.q = tensor_of({1, 1, 1, 1}, {1});
  problem.inputs.k = tensor_of({1, 1, 3, 1}, {2, 2, 2});
  problem.inputs.v = tensor_of({1, 1, 3, 1}, {first, second, third});
  const CertifiedTensor out = certify(problem, {{"out", Format::f32}}).at("out");
  EXPECT_EQ(out.bits, 128);
  EXPECT_EQ(out.undecided, 0u);
  EXPECT_EQ(out.elements[0].lower, 1);
  EXPECT_EQ(out.elements[0].upper, 1);
}

EXAMPLE(ENC_E1, weights_times_values_leave_it_undecided_at_every_precision) {
  for (int bits = 128; bits <= 4096; bits *= 2) {
    const PrecisionScope scope(bits);
    const Matrix<Enclosure> values = {{Enclosure(first)}, {Enclosure(second)}, {Enclosure(third)}};
    const Vector<Enclosure> scores = vector_of({Enclosure(2), Enclosure(2), Enclosure(2)});
    const Vector<Enclosure> weights = softmax(row_of(scores));
    const Enclosure mean = sum_over<Enclosure>(3, [&](std::size_t j) { return weights(j) * values(j, 0); });
    const Candidates candidates = round_enclosure(Format::f32, mean, Overflow::standard);
    EXPECT_EQ(candidates.lower, 1);
    EXPECT_EQ(candidates.upper, 0x1.000002p+0);
    EXPECT_EQ(status_of(Format::f32, candidates), Status::undecided);
  }
}

EXAMPLE(ENC_E2, a_rotation_that_cancels_is_many_steps_off_and_half_a_unit) {
  const double x = 1 + 0x1p-12, y = 1, cosine = 1 + 0x1p-12, sine = 1 + 0x1p-11;
  const RotaryRows rotary{{{cosine}}, {{sine}}, {0}, Pairing::halves};
  const RowOperation operation{tensor_of({1, 2}, {x, y}), {2, 1}, rotary};
  const Element due = certify(operation, Format::f32).elements[0];
  const auto product = static_cast<float>(x * cosine);
  const float answer = product - static_cast<float>(y * sine);
  EXPECT_EQ(answer, 0);
  EXPECT_EQ(due.lower, 0x1p-24);
  EXPECT_EQ(due.upper, 0x1p-24);
  EXPECT_EQ(distance_in_steps(Format::f32, due, answer), 864026624u);
  EXPECT_EQ(due.unit, 0x1p-24 * (2 + 0x1p-10 + 0x1p-24) + decode(Format::f32, 1));
  EXPECT_NEAR(distance_in_units(due, answer), 0.49976, 0.5e-5);  // as many digits as the specification prints
}

EXAMPLE(ENC_E3, a_claim_about_one_third) {
  const PrecisionScope scope(128);
  const Point x = Point(1) / 3;
  const Claim named = claim_of(Format::bf16, x, ldexp(Point(1), -80));
  const Claim wide = claim_of(Format::bf16, x, ldexp(Point(1), -11));
  EXPECT_EQ(text_of(named, "x"), "0x155p-10 <= x <= 0x157p-10");
  EXPECT_EQ(named.rounded, 0x1.56p-2);
  EXPECT_EQ(text_of(claim_of(Format::bf16, Point(0x1.5ap-2), ldexp(Point(1), -80)), "x"),
            "0x159p-10 <= x <= 0x15bp-10");
  EXPECT_EQ(text_of(wide, "x"), "0x154dp-14 <= x <= 0xaafp-13");
  EXPECT_FALSE(wide.rounded.has_value());
}

}  // namespace
}  // namespace attest
