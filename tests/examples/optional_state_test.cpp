/// Chapters 07 to 09: the examples.

#include "attest/definitions/layer_constructors.hpp"
#include "support/by_hand.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

std::vector<std::string> written(const std::vector<StateSlot>& slots) {
  std::vector<std::string> lines;
  for (const StateSlot& slot : slots) lines.push_back(slot.name + " " + to_string(slot.shape));
  return lines;
}

EXAMPLE(OPT_E1, lists_of_a_layer_with_two_heads) {
  const LayerExtents n{1, 1, 3, 2, 2};
  const std::vector<std::string> weights = {"queryWeight (3, 4)", "keyWeight (3, 4)", "valueWeight (3, 4)",
                                            "outputWeight (4, 3)"};
  EXPECT_EQ(written(layer_shapes(bias_free_layer(n).config)), weights);
  const std::vector<std::string> options = {"queryBias (4)", "keyBias (4)", "valueBias (4)", "outputBias (3)",
                                            "probability ()"};
  EXPECT_EQ(written(layer_shapes(configured_layer(n, {}, {true, true, 0.5}).config)), append(weights, options));
}

EXAMPLE(DRP_E1, known_answers_of_philox) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

EXAMPLE(DRP_E2, a_mask_of_four_entries) {
  const Tensor<bool> kept = kept_mask(0, 0.5, {4});
  EXPECT_EQ(kept, (Tensor<bool>{false, true, true, true}));
  EXPECT_EQ(dropout(tensor_of({4}, {0.25, 0.25, 0.25, 0.25}), kept, 0.5, true), tensor_of({4}, {0, 0.5, 0.5, 0.5}));
}

EXAMPLE(DRP_E2, halves_of_seed_and_block_go_low_first) {
  const std::uint64_t seed = 0x0000000200000001, n = (std::uint64_t(3) << 34) + 4 * 5 + 2;
  EXPECT_EQ(random_word(seed, n), philox({5, 3, 0, 0}, {1, 2})[2]);
}

Enclosure spread(Scheme scheme, const Shape& shape) { return spread_of<Enclosure>(scheme, fans_of(shape)); }

EXAMPLE(INI_E1, spreads_of_a_weight_with_four_rows_and_two_columns) {
  with_precision(property_bits, [] {
    expect_is(spread(Scheme::xavier_uniform, {4, 2}), Enclosure(1));
    expect_is(spread(Scheme::xavier_normal, {4, 2}), sqrt(ratio(1, 3)));
    expect_is(spread(Scheme::kaiming_uniform, {4, 2}), sqrt(ratio(3, 2)));
    expect_is(spread(Scheme::kaiming_normal, {4, 2}), sqrt(ratio(1, 2)));
    expect_is(spread(Scheme::xavier_uniform, {2, 4}), Enclosure(1));
    expect_is(spread(Scheme::xavier_normal, {2, 4}), sqrt(ratio(1, 3)));
    expect_is(spread(Scheme::kaiming_uniform, {2, 4}), sqrt(Enclosure(3)));
    expect_is(spread(Scheme::kaiming_normal, {2, 4}), Enclosure(1));
    EXPECT_TRUE(is_zero(spread(Scheme::zeros, {4, 2})));
  });
}

EXAMPLE(INI_E2, first_entries_from_seed_0) {
  EXPECT_EQ(unit_uniform_at(0, 0), std::ldexp(0xCC4FD1ABC2D39, -53));
  EXPECT_EQ(initial_tensor(Scheme::xavier_uniform, {4, 2}, 0)(0, 0), std::ldexp(-909308552532679, -52));
  EXPECT_EQ(initial_tensor(Scheme::xavier_normal, {4, 2}, 0)(0, 0), -0.07015843612789026);
}

}  // namespace
}  // namespace attest
