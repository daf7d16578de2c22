#include "attest/definitions/layer_state.hpp"

namespace attest {

std::array<ConfiguredSlot, 9> configured_slots(const LayerConfig& n) {
  const std::size_t queries = n.q_heads * n.head_width, keys = n.k_heads * n.head_width;
  const std::size_t values = n.v_heads * n.value_width, merged = n.q_heads * n.value_width;
  return {{{true, {"queryWeight", {n.query_input, queries}}},
           {true, {"keyWeight", {n.key_input, keys}}},
           {true, {"valueWeight", {n.value_input, values}}},
           {true, {"outputWeight", {merged, n.output_width}}},
           {n.input_bias, {"queryBias", {queries}}},
           {n.input_bias, {"keyBias", {keys}}},
           {n.input_bias, {"valueBias", {values}}},
           {n.output_bias, {"outputBias", {n.output_width}}},
           {n.dropout, {"probability", {}}}}};
}

void check(const LayerConfig& n) {
  for (const std::size_t heads : {n.k_heads, n.v_heads}) {
    require(n.q_heads > 0 && heads > 0 && n.q_heads % heads == 0, "OPT.C4",
            "heads: at least 1 and a divisor of the {} query heads, got {}", n.q_heads, heads);
  }
  const std::pair<const char*, std::size_t> widths[] = {
      {"head width", n.head_width}, {"value width", n.value_width}, {"query input", n.query_input},
      {"key input", n.key_input},   {"value input", n.value_input}, {"output width", n.output_width}};
  for (const auto& [name, width] : widths) require(width > 0, "OPT.C4", "{}: at least 1, got 0", name);
}

std::vector<StateSlot> layer_shapes(const LayerConfig& config) {
  std::vector<StateSlot> shapes;
  for (const auto& [enabled, slot] : configured_slots(config)) shapes = append(shapes, optional_shapes(enabled, slot));
  return shapes;
}

}  // namespace attest
