#include "attest/training/adam.hpp"

namespace attest {

void require_adam(const AdamOptions& options) {
  require(std::isfinite(options.rate) && options.rate >= 0, "TRN.C2", "rate: finite and at least 0, got {}",
          options.rate);
  for (const double decay : {options.first_decay, options.second_decay}) {
    require(decay >= 0 && decay < 1, "TRN.C2", "decay: at least 0 and less than 1, got {}", decay);
  }
  require(std::isfinite(options.epsilon) && options.epsilon > 0, "TRN.C2", "epsilon: finite and above 0, got {}",
          options.epsilon);
}

}  // namespace attest
