#pragma once
/// Chapter 14 (TRN): Adam (Kingma and Ba 2015, algorithm 1) as a pure step: parameters, gradient and state in,
/// parameters and state out. It works on any record that has `trained_slots`, and touches nothing else of it.

#include "attest/definitions/decoder_slots.hpp"
#include "attest/definitions/layer_slots.hpp"

namespace attest {

/// The numbers of the algorithm, with the values that its paper proposes.
struct AdamOptions {
  double rate = 0.001;          ///< alpha
  double first_decay = 0.9;     ///< beta_1
  double second_decay = 0.999;  ///< beta_2
  double epsilon = 1e-8;
};

/// Refuses a rate that is negative or not finite, decays outside [0, 1), and an epsilon that is not above 0: TRN.C2.
void require_adam(const AdamOptions& options);

/// One number of the parameters, and the averages of its gradient and of its square.
template <class T>
struct AdamEntry {
  T parameter, first, second;
};

/// How much of the averages has decayed: beta_1^t and beta_2^t.
template <class T>
struct AdamDecay {
  T first = T(1), second = T(1);
};

/// TRN.D5  adam_entry(w, m, v, g): m' = beta_1 m + (1 - beta_1) g, v' = beta_2 v + (1 - beta_2) g^2,
/// w' = w - alpha (m' / (1 - beta_1^t)) / (sqrt(v' / (1 - beta_2^t)) + epsilon), the powers from `decay`.
template <Scalar T>
AdamEntry<T> adam_entry(const AdamEntry<T>& old, const T& g, const AdamDecay<T>& decay, const AdamOptions& options) {
  const T b1 = lift<T>(options.first_decay), b2 = lift<T>(options.second_decay);
  const T first = b1 * old.first + (T(1) - b1) * g;
  const T second = b2 * old.second + (T(1) - b2) * g * g;
  const T step = first / (T(1) - decay.first);
  const T size = sqrt(T(second / (T(1) - decay.second))) + lift<T>(options.epsilon);
  return {old.parameter - lift<T>(options.rate) * step / size, first, second};
}

/// What Adam remembers of the gradients so far.
template <class Parameters, class T>
struct AdamState {
  Parameters first, second;
  AdamDecay<T> decay;
};

/// TRN.D6  adam_start(w): nothing remembered. Averages start at 0, which the division by 1 - beta^t makes up for.
template <class T, class Parameters>
AdamState<Parameters, T> adam_start(const Parameters& parameters) {
  AdamState<Parameters, T> state{parameters, parameters, {}};
  for (Parameters* average : {&state.first, &state.second}) {
    for (const TrainedSlot<T>& slot : trained_slots(*average)) {
      for (T& entry : slot.entries) entry = T(0);
    }
  }
  return state;
}

/// Parameters after a step, and what Adam remembers then.
template <class Parameters, class T>
struct AdamStep {
  Parameters parameters;
  AdamState<Parameters, T> state;
};

/// TRN.D7  adam_step(w, g, state): D5 at every entry of every slot; what is no slot stays as it is. Refuses a gradient
/// without an entry for each parameter: TRN.C3.
template <class T, class Parameters>
AdamStep<Parameters, T> adam_step(const Parameters& parameters, const Parameters& gradient,
                                  const AdamState<Parameters, T>& state, const AdamOptions& options) {
  require_adam(options);
  AdamStep<Parameters, T> next{parameters, state};
  next.state.decay = {state.decay.first * lift<T>(options.first_decay),
                      state.decay.second * lift<T>(options.second_decay)};
  const auto w = trained_slots(next.parameters), m = trained_slots(next.state.first),
             v = trained_slots(next.state.second);
  const auto g = trained_slots(gradient);
  for (std::size_t n = 0; n < w.size(); ++n) {
    require(g[n].entries.size() == w[n].entries.size(), "TRN.C3", "{}: a gradient for each of the {} entries, got {}",
            w[n].name, w[n].entries.size(), g[n].entries.size());
    for (std::size_t e = 0; e < w[n].entries.size(); ++e) {
      const AdamEntry<T> entry = adam_entry<T>({w[n].entries[e], m[n].entries[e], v[n].entries[e]}, g[n].entries[e],
                                               next.state.decay, options);
      w[n].entries[e] = entry.parameter, m[n].entries[e] = entry.first, v[n].entries[e] = entry.second;
    }
  }
  return next;
}

}  // namespace attest
