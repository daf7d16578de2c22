/// Chapter 14: what is refused, and in which words.

#include <limits>

#include "attest/training/train.hpp"
#include "support/refusal.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

CONSTRAINT(TRN_C1, there_is_a_target_for_each_row_of_logits) {
  const Matrix<double> logits = {{1, 2, 3}, {4, 5, 6}};
  const auto with = [&](const std::vector<std::size_t>& targets) {
    return refusal_of([&] { mean_cross_entropy(logits, Row<std::size_t>(targets)); });
  };
  EXPECT_EQ(with({0, 2}), "");
  EXPECT_EQ(with({0}), "TRN.C1: targets: one for each of the 2 rows, and at least one, got 1");
  EXPECT_EQ(with({0, 3}), "DEC.C1: tokens: each less than the 3 of the vocabulary, got 3");
  const std::vector<std::size_t> three = {0, 0, 0};
  EXPECT_EQ(refusal_of([&] { mean_cross_entropy_gradient(logits, Row<std::size_t>(three)); }),
            "TRN.C1: targets: one for each of the 2 rows, and at least one, got 3");
  EXPECT_EQ(refusal_of([&] {
              mean_cross_entropy(Matrix<double>::from_shape({0, 3}), Row<std::size_t>());
            }),
            "TRN.C1: targets: one for each of the 0 rows, and at least one, got 0");
}

CONSTRAINT(TRN_C2, the_numbers_of_adam_are_usable) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto with = [](const AdamOptions& options) { return refusal_of([&] { require_adam(options); }); };
  EXPECT_EQ(with({}), "");
  EXPECT_EQ(with({.rate = -1}), "TRN.C2: rate: finite and at least 0, got -1");
  EXPECT_EQ(with({.rate = nan}), "TRN.C2: rate: finite and at least 0, got nan");
  EXPECT_EQ(with({.first_decay = 1}), "TRN.C2: decay: at least 0 and less than 1, got 1");
  EXPECT_EQ(with({.second_decay = nan}), "TRN.C2: decay: at least 0 and less than 1, got nan");
  EXPECT_EQ(with({.epsilon = 0}), "TRN.C2: epsilon: finite and above 0, got 0");
}

CONSTRAINT(TRN_C3, a_gradient_has_an_entry_for_each_parameter) {
  LayerState<double> w;
  w.query_weight = w.key_weight = w.value_weight = w.output_weight = Matrix<double>{{1}};
  w.output_bias = Vector<double>{1};
  LayerState<double> g = w;
  const auto step = [&] { return refusal_of([&] { adam_step<double>(w, g, adam_start<double>(w), {}); }); };
  EXPECT_EQ(step(), "");
  g.output_bias.reset();
  EXPECT_EQ(step(), "TRN.C3: outputBias: a gradient for each of the 1 entries, got 0");
}

}  // namespace
}  // namespace attest
