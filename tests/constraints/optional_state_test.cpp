/// Chapters 07 to 09: what is refused, and in which words.

#include <limits>

#include "attest/definitions/layer_constructors.hpp"
#include "support/refusal.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

/// Two query heads over one key head and two value heads, with both biases and dropout.
LayerConfig configuration() {
  LayerConfig n;
  n.q_heads = n.v_heads = 2;
  n.head_width = 3;
  n.value_width = 2;
  n.query_input = 4;
  n.output_width = 5;
  n.input_bias = n.output_bias = n.dropout = true;
  return n;
}

StateList<double> fitting(const LayerConfig& config) {
  return initial_state(layer_plan(config, {}, {1, 2, 3, 4}, 0.5));
}

template <class Change>
std::string refusal_of_list(Change&& change) {
  StateList<double> list = fitting(configuration());
  change(list);
  return refusal_of([&] { unpack(configuration(), list); });
}

template <class Change>
std::string refusal_of_state(Change&& change) {
  LayerState<double> state = unpack(configuration(), fitting(configuration()));
  change(state);
  return refusal_of([&] { check(configuration(), state); });
}

CONSTRAINT(OPT_C1, a_tensor_has_the_shape_of_its_slot) {
  EXPECT_EQ(refusal_of_list([](auto&) {}), "");
  EXPECT_EQ(refusal_of_list([](auto& list) { std::swap(list[1], list[2]); }),
            "OPT.C1: keyWeight: shape (1, 3), got (1, 4)");
  EXPECT_EQ(refusal_of_list([](auto& list) { std::swap(list[7], list[8]); }), "OPT.C1: outputBias: shape (5), got ()");
  EXPECT_EQ(refusal_of_state([](auto&) {}), "");
  EXPECT_EQ(refusal_of_state([](auto& state) { state.query_weight = state.output_weight; }),
            "OPT.C1: queryWeight: shape (4, 6), got (4, 5)");
}

CONSTRAINT(OPT_C2, the_list_holds_exactly_the_slots_of_the_configuration) {
  EXPECT_EQ(refusal_of_list([](auto& list) { list.pop_back(); }),
            "OPT.C2: probability: a slot in this configuration, got the end of the list");
  EXPECT_EQ(refusal_of_list([](auto& list) { list.push_back(list[0]); }),
            "OPT.C2: state: 9 slots in this configuration, got 1 more");
  EXPECT_EQ(refusal_of_state([](auto& state) { state.probability.reset(); }),
            "OPT.C2: probability: a slot in this configuration");
  EXPECT_EQ(refusal_of([] {
              LayerConfig plain = configuration();
              plain.dropout = false;
              check(plain, unpack(configuration(), fitting(configuration())));
            }),
            "OPT.C2: probability: no slot in this configuration");
}

CONSTRAINT(OPT_C2, input_biases_come_together) {
  LayerState<double> state = unpack(configuration(), fitting(configuration()));
  state.key_bias.reset();
  EXPECT_EQ(refusal_of([&] { pack(state); }), "OPT.C2: queryBias, keyBias and valueBias come together");
  state.query_bias.reset();
  state.value_bias.reset();
  EXPECT_EQ(refusal_of([&] { pack(state); }), "");
}

CONSTRAINT(OPT_C3, a_layer_is_made_for_sequences_of_at_least_one_token) {
  const std::string refusal = "OPT.C3: sequence: a layer is made for a length of at least 1, got 0";
  const LayerExtents none{1, 0, 4, 2, 2};
  EXPECT_EQ(refusal_of([&] { bias_free_layer(none); }), refusal);
  EXPECT_EQ(refusal_of([&] { output_bias_layer(none); }), refusal);
  EXPECT_EQ(refusal_of([&] { configured_layer(none); }), refusal);
  EXPECT_EQ(refusal_of([] { bias_free_layer({0, 1, 4, 2, 2}); }), "");
}

CONSTRAINT(OPT_C4, extents_are_at_least_1_and_key_heads_divide_query_heads) {
  const auto with = [](auto member, std::size_t extent) {
    LayerConfig config = configuration();
    config.*member = extent;
    return refusal_of([&] { check(config); });
  };
  EXPECT_EQ(with(&LayerConfig::k_heads, 2), "");
  EXPECT_EQ(with(&LayerConfig::k_heads, 3), "OPT.C4: heads: at least 1 and a divisor of the 2 query heads, got 3");
  EXPECT_EQ(with(&LayerConfig::v_heads, 0), "OPT.C4: heads: at least 1 and a divisor of the 2 query heads, got 0");
  EXPECT_EQ(with(&LayerConfig::q_heads, 0), "OPT.C4: heads: at least 1 and a divisor of the 0 query heads, got 1");
  EXPECT_EQ(with(&LayerConfig::head_width, 0), "OPT.C4: head width: at least 1, got 0");
  EXPECT_EQ(with(&LayerConfig::output_width, 0), "OPT.C4: output width: at least 1, got 0");
  EXPECT_EQ(refusal_of([] {
              bias_free_layer({1, 1, 4, 0, 2});
            }),
            "OPT.C4: heads: at least 1 and a divisor of the 0 query heads, got 0");
  EXPECT_EQ(refusal_of([] { bias_free_layer({1, 1, 0, 1, 2}); }), "OPT.C4: query input: at least 1, got 0");
}

CONSTRAINT(OPT_C5, the_mask_of_a_layer_is_square) {
  const auto with = [](std::size_t rows, std::size_t columns) {
    LayerChoices choices;
    choices.mask = tabulate(rows, columns, [](std::size_t, std::size_t) { return true; });
    return refusal_of([&] { bias_free_layer({1, 3, 2, 1, 2}, choices); });
  };
  EXPECT_EQ(with(3, 3), "");
  EXPECT_EQ(with(3, 4), "OPT.C5: mask: shape (3, 3), got (3, 4)");
  EXPECT_EQ(with(1, 3), "OPT.C5: mask: shape (3, 3), got (1, 3)");
}

CONSTRAINT(DRP_C1, a_probability_lies_in_0_to_1) {
  const auto mask = [](double p) { return refusal_of([&] { kept_mask(0, p, {2}); }); };
  EXPECT_EQ(mask(0), "");
  EXPECT_EQ(mask(1), "");
  EXPECT_EQ(mask(-0.5), "DRP.C1: probability: a number in 0..1, got -0.5");
  EXPECT_EQ(mask(1.5), "DRP.C1: probability: a number in 0..1, got 1.5");
  EXPECT_EQ(mask(std::numeric_limits<double>::quiet_NaN()), "DRP.C1: probability: a number in 0..1, got nan");
  const Tensor<double> weights(Shape{2}, 0.5);
  EXPECT_EQ(refusal_of([&] { dropout(weights, Tensor<bool>(Shape{2}, true), 2, false); }),
            "DRP.C1: probability: a number in 0..1, got 2");
  EXPECT_EQ(refusal_of([] {
              configured_layer({1, 1, 2, 1, 2}, {}, {false, false, -1.0});
            }),
            "DRP.C1: probability: a number in 0..1, got -1");
}

CONSTRAINT(DRP_C2, a_kept_mask_has_the_shape_of_the_weights) {
  const auto with = [](const Shape& kept) {
    const Tensor<double> weights(Shape{2, 3}, 0.5);
    return refusal_of([&] { dropout(weights, Tensor<bool>(kept, true), 0.5, true); });
  };
  EXPECT_EQ(with({2, 3}), "");
  EXPECT_EQ(with({1, 3}), "DRP.C2: kept: shape (2, 3), got (1, 3)");
  EXPECT_EQ(with({6}), "DRP.C2: kept: shape (2, 3), got (6)");
}

CONSTRAINT(INI_C1, a_scheme_needs_a_matrix) {
  const auto of = [](const Shape& shape) {
    return refusal_of([&] { initial_tensor(Scheme::xavier_normal, shape, 0); });
  };
  EXPECT_EQ(of({1, 1}), "");
  EXPECT_EQ(of({4}), "INI.C1: shape: a matrix with extents of at least 1, got (4)");
  EXPECT_EQ(of({2, 3, 4}), "INI.C1: shape: a matrix with extents of at least 1, got (2, 3, 4)");
  EXPECT_EQ(of({0, 4}), "INI.C1: shape: a matrix with extents of at least 1, got (0, 4)");
  EXPECT_EQ(refusal_of([] { initial_tensor(Scheme::zeros, {0, 4}, 0); }), "");
}

}  // namespace
}  // namespace attest
