#pragma once
/// Chapter 07 (OPT): one slot of state that may be absent. A disabled option has no slot: a list without it is shorter,
/// and nothing stands in for it.

#include <string>
#include <utility>

#include "attest/definitions/initialisation.hpp"

namespace attest {

/// A place in the state list of a layer.
struct StateSlot {
  std::string name;
  Shape shape;

  bool operator==(const StateSlot&) const = default;
};

/// The tensors of a state, one for each slot, in the order of the slots.
template <class T>
using StateList = std::vector<Tensor<T>>;

/// How a slot gets its first entries: all of them the same number, or drawn by a scheme from a seed.
struct Drawn {
  Scheme scheme;
  std::uint64_t seed;
};
using Initial = std::variant<double, Drawn>;

/// A slot and how it gets its first entries.
struct PlannedSlot {
  StateSlot slot;
  Initial initial;
};
using Plan = std::vector<PlannedSlot>;

/// Refuses a tensor that has not the shape of its slot: OPT.C1.
template <class T>
void require_fits(const StateSlot& slot, const T& tensor) {
  const Shape got(tensor.shape().begin(), tensor.shape().end());
  require(got == slot.shape, "OPT.C1", "{}: shape {}, got {}", slot.name, to_string(slot.shape), to_string(got));
}

/// One list after the other.
template <class T>
std::vector<T> append(std::vector<T> first, const std::vector<T>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

/// OPT.D1  optional_shapes(enabled, slot) = (slot) if enabled, () if not.
std::vector<StateSlot> optional_shapes(bool enabled, const StateSlot& slot);

/// OPT.D2  optional_state(enabled, value) = (value) if enabled, () if not.
template <class T>
StateList<T> optional_state(bool enabled, const Tensor<T>& value) {
  return enabled ? StateList<T>{value} : StateList<T>{};
}

/// OPT.D3  optional_init(enabled, slot, initial): a plan for each slot of optional_shapes(enabled, slot).
Plan optional_init(bool enabled, const StateSlot& slot, const Initial& initial);

/// OPT.D4  take_optional(enabled, slot, list) = (first of the list, the rest) if enabled, (nothing, the list) if not.
/// Refuses a list without the slot, or a tensor of another shape in its place: OPT.C2, OPT.C1.
template <class T>
std::pair<std::optional<Tensor<T>>, StateList<T>> take_optional(bool enabled, const StateSlot& slot,
                                                                StateList<T> list) {
  if (!enabled) return {std::nullopt, std::move(list)};
  require(!list.empty(), "OPT.C2", "{}: a slot in this configuration, got the end of the list", slot.name);
  require_fits(slot, list.front());
  Tensor<T> first = std::move(list.front());
  list.erase(list.begin());
  return {std::move(first), std::move(list)};
}

}  // namespace attest
