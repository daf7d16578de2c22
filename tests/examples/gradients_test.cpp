/// Chapter 13: the examples.

#include "attest/gradients/attention_gradient.hpp"
#include "attest/gradients/norms_gradient.hpp"
#include "support/by_hand.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

EXAMPLE(GRD_E1, softmax_backwards) {
  const PrecisionScope scope(property_bits);
  const Vector<Enclosure> scores = vector_of<Enclosure>({0, ln(2), ln(3)});
  const Vector<Enclosure> g = vector_of<Enclosure>({6, 3, 0});
  const Vector<Enclosure> weights = softmax(row_of(scores));
  expect_is(centre(row_of(weights), row_of(g)), 2);
  expect_are(softmax_gradient(row_of(weights), row_of(g)), {ratio(2, 3), ratio(1, 3), -1});
  const Vector<Enclosure> beside_sink = sink_softmax(row_of(scores), ln(6));
  expect_is(centre(row_of(beside_sink), row_of(g)), 1);
  expect_are(softmax_gradient(row_of(beside_sink), row_of(g)), {ratio(5, 12), ratio(1, 3), ratio(-1, 4)});
  expect_is(sink_gradient(ratio(1, 2), row_of(beside_sink), row_of(g)), ratio(-1, 2));
}

/// One query 1, keys 0, ln 2, ln 3, values 6, 3, 0.
Head<Enclosure> one_row() {
  Head<Enclosure> head;
  head.queries = tabulate(1, 1, [](std::size_t, std::size_t) { return Enclosure(1); });
  head.keys = tabulate(3, 1, [](std::size_t j, std::size_t) { return ln(static_cast<int>(j) + 1); });
  head.values = tabulate(3, 1, [](std::size_t j, std::size_t) { return Enclosure(6 - 3 * static_cast<int>(j)); });
  head.visible = tabulate(1, 3, [](std::size_t, std::size_t) { return true; });
  return head;
}

Vector<Enclosure> column(const Matrix<Enclosure>& m) {
  return tabulate(m.shape(0), [&](std::size_t i) -> Enclosure { return m(i, 0); });
}

EXAMPLE(GRD_E2, a_row_backwards) {
  const PrecisionScope scope(property_bits);
  const auto cotangent = [](int g) { return tabulate(1, 1, [g](std::size_t, std::size_t) { return Enclosure(g); }); };
  const HeadGradient<Enclosure> of_output = head_gradient(one_row(), cotangent(1), {});
  expect_is(of_output.queries(0, 0), ratio(1, 3) * ln(2) - ln(3));
  expect_are(column(of_output.keys), {ratio(2, 3), ratio(1, 3), -1});
  expect_are(column(of_output.values), {ratio(1, 6), ratio(1, 3), ratio(1, 2)});
  const HeadGradient<Enclosure> of_lse = head_gradient(one_row(), cotangent(0), {vector_of<Enclosure>({1})});
  expect_is(of_lse.queries(0, 0), ratio(1, 3) * ln(2) + ratio(1, 2) * ln(3));
  expect_are(column(of_lse.keys), {ratio(1, 6), ratio(1, 3), ratio(1, 2)});
  expect_are(column(of_lse.values), {0, 0, 0});
}

EXAMPLE(GRD_E3, a_shared_bias_receives_a_sum) {
  const PrecisionScope scope(property_bits);
  Problem problem;
  problem.inputs.q = tensor_of({1, 1, 2, 1}, {0, 0});
  problem.inputs.k = tensor_of({1, 1, 2, 1}, {0, 0});
  problem.inputs.v = tensor_of({1, 1, 2, 1}, {1, 0});
  problem.inputs.bias = tensor_of({1, 1, 1, 2}, {0, 0});
  const CallGradient<Enclosure> g = attention_gradient<Enclosure>(problem, tensor_of({1, 1, 2, 1}, {1, 1}), {});
  EXPECT_EQ(g.bias->shape(2), 1u);
  expect_is((*g.bias)(0, 0, 0, 0), ratio(1, 2));
  expect_is((*g.bias)(0, 0, 0, 1), ratio(-1, 2));
}

EXAMPLE(GRD_E4, root_mean_square_norm_backwards) {
  const PrecisionScope scope(property_bits);
  const Vector<Enclosure> row = vector_of<Enclosure>({1, 7}), g = vector_of<Enclosure>({5, 0});
  const NormGradient<Enclosure> d = rms_norm_gradient<Enclosure>(row_of(row), std::nullopt, Enclosure(0), row_of(g));
  expect_are(d.row, {ratio(49, 50), ratio(-7, 50)});
  expect_is(dot(row_of(row), row_of(d.row)), 0);
}

}  // namespace
}  // namespace attest
