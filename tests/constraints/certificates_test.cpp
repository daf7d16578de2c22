/// Chapter 17: which calls a certificate is refused for, and in which words.

#include <limits>

#include "attest/verdict/certificate.hpp"
#include "support/refusal.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

Tensor<double> ones(std::size_t rows, std::size_t width) {
  Tensor<double> t = Tensor<double>::from_shape({1, 1, rows, width});
  t.fill(1.0);
  return t;
}

Problem call(std::size_t queries, std::size_t keys, std::size_t width) {
  Problem problem;
  problem.inputs.q = ones(queries, width);
  problem.inputs.k = ones(keys, width);
  problem.inputs.v = ones(keys, 1);
  return problem;
}

std::string refusal(const Problem& problem) {
  return refusal_of([&] { certificate_of(problem, std::nullopt, {.rows = {{0, 0, 0}}}); });
}

CONSTRAINT(ENC_C2, a_certificate_is_of_finite_numbers) {
  const std::string due = "ENC.C2: a certificate is of finite numbers, and q, k or v has others";
  for (const double wrong : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Problem q = call(1, 2, 1), k = q, v = q;
    q.inputs.q.data()[0] = k.inputs.k.data()[1] = v.inputs.v.data()[1] = wrong;
    EXPECT_EQ(refusal(q), due);
    EXPECT_EQ(refusal(k), due);
    EXPECT_EQ(refusal(v), due);
  }
  Problem hidden = call(1, 2, 1);
  hidden.inputs.sink = Vector<double>::from_shape({1});
  hidden.inputs.sink->fill(-std::numeric_limits<double>::infinity());
  EXPECT_EQ(refusal(hidden), "");
}

CONSTRAINT(ENC_C3, a_certificate_is_small) {
  EXPECT_EQ(refusal(call(1, 64, 16)), "");
  EXPECT_EQ(refusal(call(1, 64, 17)), "ENC.C3: a certificate has at most 1024 products of a query with keys, got 1088");
  EXPECT_EQ(refusal(call(200, 64, 16)), "ENC.C3: a certificate has at most 8192 numbers of a head, got 17088");
  Problem steep = call(1, 2, 1);
  steep.call.scale = 1024;
  EXPECT_EQ(refusal(steep), "");
  steep.call.scale = 1025;
  EXPECT_EQ(refusal(steep),
            "ENC.C3: a certificate has logits of terms of at most 1024 in all, got 1025 at (0, 0, 0, 0)");
}

}  // namespace
}  // namespace attest
