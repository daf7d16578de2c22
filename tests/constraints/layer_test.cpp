/// Chapter 06: what a layer refuses.

#include "attest/online/streamed_layer.hpp"
#include "support/refusal.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Matrix<double> ones(std::size_t rows, std::size_t columns) {
  return tabulate(rows, columns, [](std::size_t, std::size_t) { return 1.0; });
}

Vector<double> ones(std::size_t n) {
  return tabulate(n, [](std::size_t) { return 1.0; });
}

/// Two heads of width 3, values of width 2; inputs of width 4, output of width 5; two queries over three keys.
LayerProblem small_layer() {
  LayerProblem layer;
  layer.config = {2, 2, 2, 3, 2, 4, 4, 4, 5, false, false, false};
  layer.state = {ones(4, 6), ones(4, 6), ones(4, 4), ones(4, 5), {}, {}, {}, {}, {}};
  layer.query = Tensor<double>(Shape{1, 2, 4}, 0.5);
  layer.key = layer.value = Tensor<double>(Shape{1, 3, 4}, 0.25);
  return layer;
}

template <class Change>
std::string refusal_of_layer(Change&& change) {
  LayerProblem layer = small_layer();
  change(layer);
  return refusal_of([&] { check(layer); });
}

CONSTRAINT(MHA_C1, heads_divide_the_width) {
  EXPECT_EQ(refusal_of([] { split_heads(ones(2, 6), 3); }), "");
  EXPECT_EQ(refusal_of([] { split_heads(ones(2, 6), 4); }), "MHA.C1: heads: a divisor of the width 6, got 4");
  EXPECT_EQ(refusal_of([] { split_heads(ones(2, 6), 0); }), "MHA.C1: heads: a divisor of the width 6, got 0");
}

CONSTRAINT(MHA_C2, merged_heads_have_one_shape) {
  EXPECT_EQ(refusal_of([] { merge_heads(std::vector<Matrix<double>>()); }), "MHA.C2: heads: at least one, got none");
  EXPECT_EQ(refusal_of([] {
              merge_heads(std::vector{ones(2, 3), ones(2, 2)});
            }),
            "MHA.C2: heads: equal shapes, got (2, 3) and (2, 2)");
  const MultiHead<double> uneven{{ones(2, 2), ones(2, 2)}, {ones(2, 2)}, {ones(2, 2)}, ones(2, 2)};
  EXPECT_EQ(refusal_of([&] { multi_head_attention(uneven, ones(1, 2), ones(1, 2), ones(1, 2)); }),
            "MHA.C2: heads: as many for q, k and v, got 2, 1 and 1");
}

CONSTRAINT(MHA_C3, a_cache_and_what_joins_it_have_one_width) {
  EXPECT_EQ(refusal_of([] { append_rows(ones(2, 3), ones(1, 4)); }), "MHA.C3: cache: rows of width 3, got 4");
}

CONSTRAINT(MHA_C4, inputs_of_a_layer_fit_each_other) {
  EXPECT_EQ(refusal_of_layer([](LayerProblem&) {}), "");
  EXPECT_EQ(refusal_of_layer([](LayerProblem& l) {
              l.value = Tensor<double>(Shape{1, 2, 4}, 0.0);
            }),
            "MHA.C4: value: shape (1, 3, 4), got (1, 2, 4)");
  EXPECT_EQ(refusal_of_layer([](LayerProblem& l) {
              l.key = l.value = Tensor<double>(Shape{2, 3, 4}, 0.0);
            }),
            "MHA.C4: key: shape (1, 3, 4), got (2, 3, 4)");
  EXPECT_EQ(refusal_of_layer([](LayerProblem& l) {
              l.query = Tensor<double>(Shape{2, 4}, 0.0);
            }),
            "MHA.C4: query, key and value have three axes, got 2");
}

CONSTRAINT(MHA_C5, an_added_key_comes_with_its_value) {
  EXPECT_EQ(refusal_of_layer([](LayerProblem& l) { l.key_row = ones(6); }),
            "MHA.C5: keyRow and valueRow come together");
  EXPECT_TRUE(refuses("OPT.C1", "valueRow", [] {
    LayerProblem l = small_layer();
    l.key_row = ones(6);
    l.value_row = ones(6);
    check(l);
  }));
}

CONSTRAINT(MHA_C6, inputs_and_state_of_a_layer_are_finite) {
  EXPECT_EQ(refusal_of_layer([](LayerProblem& l) { l.key(0, 1, 2) = nan; }), "MHA.C6: key: finite numbers");
  EXPECT_EQ(refusal_of_layer([](LayerProblem& l) { l.state.output_weight(1, 1) = nan; }),
            "MHA.C6: outputWeight: finite numbers");
  EXPECT_EQ(refusal_of_layer([](LayerProblem& l) {
              l.config.output_bias = true;
              l.state.output_bias = ones(5) / 0.0;
            }),
            "MHA.C6: outputBias: finite numbers");
}

CONSTRAINT(MHA_C7, what_a_layer_does_not_take) {
  EXPECT_TRUE(refuses("MHA.C7", "dropout", [] {
    LayerProblem l = small_layer();
    l.call.dropout = 0.5;
    check(l);
  }));
  EXPECT_TRUE(refuses("MHA.C7", "alibi_slopes", [] {
    LayerProblem l = small_layer();
    l.zero_attention = true;
    l.masks.alibi_slopes = ones(1, 2);
    check(l);
  }));
  EXPECT_TRUE(refuses("MHA.C7", "descale", [] {
    LayerProblem l = small_layer();
    l.masks.descale_q = ones(1, 1);
    check(l);
  }));
}

CONSTRAINT(ONL_C2, a_streamed_layer_has_neither_biases_nor_dropout) {
  LayerProblem layer = small_layer();
  EXPECT_EQ(refusal_of([&] { streamed_layer<double>(layer, 2); }), "");
  EXPECT_EQ(refusal_of([&] { streamed_layer<double>(layer, 0); }), "ONL.C2: block: at least one key, got 0");
  layer.config.output_bias = true;
  layer.state.output_bias = ones(5);
  EXPECT_EQ(refusal_of([&] { streamed_layer<double>(layer, 2); }),
            "ONL.C2: layer: the streamed form is for layers without biases and without dropout");
}

}  // namespace
}  // namespace attest
