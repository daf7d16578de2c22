/// Chapter 17: what certified gradients are refused for, and in which words.

#include <limits>

#include "attest/certify/certify_gradient.hpp"
#include "support/refusal.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Tensor<double> ones(const Shape& shape) {
  Tensor<double> t = Tensor<double>::from_shape(shape);
  t.fill(1.0);
  return t;
}

/// Two queries and two keys; the second query sees nothing, and nobody sees the second key.
struct Backwards {
  Problem problem;
  Cotangents cotangents{ones({1, 1, 2, 1}), ones({1, 1, 2})};

  Backwards() {
    Inputs& in = problem.inputs;
    in.q = in.k = in.v = ones({1, 1, 2, 1});
    in.visible = Tensor<bool>::from_shape({1, 1, 2, 2});
    std::fill(in.visible->begin(), in.visible->end(), false);
    in.visible->data()[0] = true;
  }
};

std::string refusal(const Backwards& one) {
  return refusal_of([&] {
    certify_gradients(one.problem, one.cotangents, {{"dq", Format::f32}, {"dk", Format::f32}, {"dv", Format::f32}});
  });
}

std::string message(std::string_view name, double x) {
  return fmt::format("ENC.C1: {}: gradients need finite numbers wherever a visible pair reads one, got {}", name, x);
}

CONSTRAINT(ENC_C1, gradients_are_of_finite_numbers) {
  EXPECT_EQ(refusal(Backwards()), "");
  for (const double wrong : {nan, infinity, -infinity}) {
    for (std::size_t n = 0; n < 2; ++n) {  // the visible pair, and what nobody reads
      const auto due = [&](std::string_view name) { return n == 0 ? message(name, wrong) : std::string(); };
      Backwards q, k, v, dout;
      q.problem.inputs.q.data()[n] = wrong;
      k.problem.inputs.k.data()[n] = wrong;
      v.problem.inputs.v.data()[n] = wrong;
      dout.cotangents.out.data()[n] = wrong;
      EXPECT_EQ(refusal(q), due("q"));
      EXPECT_EQ(refusal(k), due("k"));
      EXPECT_EQ(refusal(v), due("v"));
      EXPECT_EQ(refusal(dout), due("dout"));
      Backwards dlse;
      dlse.cotangents.lse->data()[n] = wrong;
      EXPECT_EQ(refusal(dlse), message("dlse", wrong));
    }
  }
}

TEST(CertifiedGradients, do_not_read_padding) {
  Backwards one;
  one.problem.inputs.q_lengths = Vector<std::int64_t>({1}, 1);
  one.cotangents.lse->data()[1] = nan;
  EXPECT_EQ(refusal(one), "");
}

TEST(CertifiedGradients, of_cotangents_of_another_shape_are_refused) {
  Backwards dout, dlse;
  dout.cotangents.out = ones({1, 1, 2, 2});
  dlse.cotangents.lse = ones({1, 1, 3});
  EXPECT_EQ(refusal(dout), "GRD.C1: dout: shape (1, 1, 2, 1), got (1, 1, 2, 2)");
  EXPECT_EQ(refusal(dlse), "GRD.C1: dlse: shape (1, 1, 2), got (1, 1, 3)");
}

}  // namespace
}  // namespace attest
