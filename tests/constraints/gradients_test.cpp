/// Chapter 13: what is refused, and in which words.

#include "attest/gradients/layer_gradient.hpp"
#include "support/refusal.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

Tensor<double> filled(const Shape& shape) {
  Tensor<double> t = Tensor<double>::from_shape(shape);
  t.fill(0.5);
  return t;
}

/// 1 batch entry, 2 query heads, 3 queries, 4 keys, width 2, values of width 5.
Problem call() {
  Problem problem;
  problem.inputs.q = filled({1, 2, 3, 2});
  problem.inputs.k = filled({1, 1, 4, 2});
  problem.inputs.v = filled({1, 1, 4, 5});
  return problem;
}

CONSTRAINT(GRD_C1, a_cotangent_has_the_shape_of_its_result) {
  const Tensor<double> dout = filled({1, 2, 3, 5});
  EXPECT_EQ(refusal_of([&] { attention_gradient<double>(call(), dout, filled({1, 2, 3})); }), "");
  EXPECT_EQ(refusal_of([] {
              attention_gradient<double>(call(), filled({1, 2, 3, 2}), {});
            }),
            "GRD.C1: dout: shape (1, 2, 3, 5), got (1, 2, 3, 2)");
  EXPECT_EQ(refusal_of([&] {
              attention_gradient<double>(call(), dout, filled({1, 2, 3, 1}));
            }),
            "GRD.C1: dlse: shape (1, 2, 3), got (1, 2, 3, 1)");
  const Head<double> head = head_of<double>(call(), 0, 0, all_indices(3));
  const Matrix<double> g = tabulate(3, 5, [](std::size_t, std::size_t) { return 0.5; });
  EXPECT_TRUE(refuses("GRD.C1", "dout", [&] { head_gradient(head, transpose(g), {}); }));
  EXPECT_TRUE(refuses("GRD.C1", "dlse", [&] { head_gradient(head, g, {Vector<double>::from_shape({2})}); }));
  EXPECT_TRUE(refuses("GRD.C1", "g:", [&] { affine_gradient(g, transpose(g), false, g); }));
}

}  // namespace
}  // namespace attest
