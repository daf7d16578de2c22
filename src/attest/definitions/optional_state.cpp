#include "attest/definitions/optional_state.hpp"

namespace attest {

std::vector<StateSlot> optional_shapes(bool enabled, const StateSlot& slot) {
  return enabled ? std::vector<StateSlot>{slot} : std::vector<StateSlot>{};
}

Plan optional_init(bool enabled, const StateSlot& slot, const Initial& initial) {
  Plan plan;
  for (const StateSlot& present : optional_shapes(enabled, slot)) plan.push_back({present, initial});
  return plan;
}

}  // namespace attest
