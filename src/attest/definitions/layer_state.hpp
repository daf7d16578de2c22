#pragma once
/// Chapter 07 (OPT): the state of a configured attention layer: which slots it has, of which shapes, in which order.

#include <array>
#include <optional>

#include "attest/definitions/optional_state.hpp"
#include "attest/tensor/tensor.hpp"

namespace attest {

/// What determines the state list of a layer. Weights multiply from the right: a projection is x W + b.
struct LayerConfig {
  std::size_t q_heads = 1;
  std::size_t k_heads = 1;
  std::size_t v_heads = 1;
  std::size_t head_width = 1;    ///< D, of a query and a key
  std::size_t value_width = 1;   ///< Dv, of a value
  std::size_t query_input = 1;   ///< Eq, the width of what becomes queries
  std::size_t key_input = 1;     ///< Ek
  std::size_t value_input = 1;   ///< Ev
  std::size_t output_width = 1;  ///< Eo
  bool input_bias = false;
  bool output_bias = false;
  bool dropout = false;
};

/// The state of a layer, in the order of its list. An absent slot is `nullopt`: nothing stands in for it.
template <class T>
struct LayerState {
  Matrix<T> query_weight;                ///< (Eq, Hq D)
  Matrix<T> key_weight;                  ///< (Ek, Hk D)
  Matrix<T> value_weight;                ///< (Ev, Hv Dv)
  Matrix<T> output_weight;               ///< (Hq Dv, Eo)
  std::optional<Vector<T>> query_bias;   ///< (Hq D)
  std::optional<Vector<T>> key_bias;     ///< (Hk D)
  std::optional<Vector<T>> value_bias;   ///< (Hv Dv)
  std::optional<Vector<T>> output_bias;  ///< (Eo)
  std::optional<T> probability;          ///< of dropout; not trainable
};

/// A slot that a layer may have, and whether a configuration has it.
struct ConfiguredSlot {
  bool enabled;
  StateSlot slot;
};

/// Every slot that a layer may have, in the order of the list.
std::array<ConfiguredSlot, 9> configured_slots(const LayerConfig& config);

/// Refuses extents of 0, and heads that cannot be shared evenly: OPT.C4.
void check(const LayerConfig& config);

/// OPT.D5  layer_shapes(config) = queryWeight keyWeight valueWeight outputWeight [queryBias keyBias valueBias]
/// [outputBias] [probability], what stands in brackets by OPT.D1.
std::vector<StateSlot> layer_shapes(const LayerConfig& config);

/// The members of a state in the order of the list, the absent ones too.
template <class T>
std::array<std::optional<Tensor<T>>, 9> members(const LayerState<T>& state) {
  const auto tensor = [](const auto& member) {
    return member ? std::optional<Tensor<T>>(Tensor<T>(*member)) : std::nullopt;
  };
  return {state.query_weight,       state.key_weight,          state.value_weight,
          state.output_weight,      tensor(state.query_bias),  tensor(state.key_bias),
          tensor(state.value_bias), tensor(state.output_bias), tensor(state.probability)};
}

/// Refuses a state that is not one of the configuration: OPT.C1, OPT.C2.
template <class T>
void check(const LayerConfig& config, const LayerState<T>& state) {
  const std::array<ConfiguredSlot, 9> slots = configured_slots(config);
  const std::array<std::optional<Tensor<T>>, 9> given = members(state);
  for (std::size_t n = 0; n < slots.size(); ++n) {
    const auto& [enabled, slot] = slots[n];
    require(given[n].has_value() == enabled, "OPT.C2", "{}: {} in this configuration", slot.name,
            enabled ? "a slot" : "no slot");
    if (given[n]) require_fits(slot, *given[n]);
  }
}

/// OPT.D6  pack(state): the slots that the state has, in the order of the list. Refuses some but not all of the three
/// input biases, which no configuration has: OPT.C2.
template <class T>
StateList<T> pack(const LayerState<T>& state) {
  const bool input_bias = state.query_bias.has_value();
  require(state.key_bias.has_value() == input_bias && state.value_bias.has_value() == input_bias, "OPT.C2",
          "queryBias, keyBias and valueBias come together");
  StateList<T> list;
  for (const std::optional<Tensor<T>>& member : members(state)) {
    if (member) list.push_back(*member);
  }
  return list;
}

/// OPT.D7  unpack(config, list): the slots taken from the list one after the other, by OPT.D4. Refuses a list that is
/// not exactly that of the configuration: OPT.C1, OPT.C2.
template <class T>
LayerState<T> unpack(const LayerConfig& config, StateList<T> list) {
  const std::array<ConfiguredSlot, 9> slots = configured_slots(config);
  std::array<std::optional<Tensor<T>>, 9> taken;
  for (std::size_t n = 0; n < slots.size(); ++n) {
    std::tie(taken[n], list) = take_optional(slots[n].enabled, slots[n].slot, std::move(list));
  }
  require(list.empty(), "OPT.C2", "state: {} slots in this configuration, got {} more", layer_shapes(config).size(),
          list.size());
  const auto vector = [&](std::size_t n) { return taken[n] ? std::optional<Vector<T>>(*taken[n]) : std::nullopt; };
  const auto scalar = [&](std::size_t n) { return taken[n] ? std::optional<T>((*taken[n])()) : std::nullopt; };
  return {*taken[0], *taken[1], *taken[2], *taken[3], vector(4), vector(5), vector(6), vector(7), scalar(8)};
}

}  // namespace attest
