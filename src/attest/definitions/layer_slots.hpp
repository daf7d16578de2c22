#pragma once
/// Chapter 14 (TRN): what the configured layer of chapter 06 learns.

#include <array>

#include "attest/definitions/layer_state.hpp"
#include "attest/definitions/trained_slot.hpp"

namespace attest {

/// The entries of a slot that may be absent; none if it is.
template <class Optional>
auto entries_if_present(Optional& tensor) {
  return tensor ? entries_of(*tensor) : decltype(entries_of(*tensor)){};
}

/// TRN.D8  trained_slots(state): the weights and biases of a layer, in the order of its list. The probability of
/// dropout is a slot of the list and is not learned. `State` is a LayerState, const or not.
template <class State>
auto trained_slots(State& state) requires requires {
  state.query_weight;
}
{
  using Entry = std::remove_reference_t<decltype(*state.query_weight.data())>;
  return std::array<TrainedSlot<Entry>, 8>{{{"queryWeight", entries_of(state.query_weight)},
                                            {"keyWeight", entries_of(state.key_weight)},
                                            {"valueWeight", entries_of(state.value_weight)},
                                            {"outputWeight", entries_of(state.output_weight)},
                                            {"queryBias", entries_if_present(state.query_bias)},
                                            {"keyBias", entries_if_present(state.key_bias)},
                                            {"valueBias", entries_if_present(state.value_bias)},
                                            {"outputBias", entries_if_present(state.output_bias)}}};
}

}  // namespace attest
