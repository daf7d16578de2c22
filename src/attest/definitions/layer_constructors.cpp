#include "attest/definitions/layer_constructors.hpp"

namespace attest {

namespace {

/// Zeros need no seed, so they are a number and not drawn.
Initial weight(Scheme scheme, std::uint64_t seed) {
  if (scheme == Scheme::zeros) return 0.0;
  return Drawn{scheme, seed};
}

LayerConfig config_of(const LayerExtents& n, const LayerOptions& options) {
  LayerConfig config;
  config.q_heads = config.k_heads = config.v_heads = n.heads;
  config.head_width = config.value_width = n.head_width;
  config.query_input = config.key_input = config.value_input = config.output_width = n.model_width;
  config.input_bias = options.input_bias;
  config.output_bias = options.output_bias;
  config.dropout = options.dropout.has_value();
  return config;
}

void check(const LayerExtents& n, const LayerChoices& choices, const LayerOptions& options) {
  require(n.sequence > 0, "OPT.C3", "sequence: a layer is made for a length of at least 1, got 0");
  if (choices.mask) {
    const auto& got = choices.mask->shape();
    require(got[0] == n.sequence && got[1] == n.sequence, "OPT.C5", "mask: shape ({0}, {0}), got ({1}, {2})",
            n.sequence, got[0], got[1]);
  }
  if (options.dropout) require_probability(*options.dropout);
}

}  // namespace

Plan layer_plan(const LayerConfig& config, const WeightSchemes& schemes, const WeightSeeds& seeds, double probability) {
  const std::array<Initial, 9> initial = {weight(schemes.input, seeds.query),
                                          weight(schemes.input, seeds.key),
                                          weight(schemes.input, seeds.value),
                                          weight(schemes.output, seeds.output),
                                          0.0,
                                          0.0,
                                          0.0,
                                          0.0,
                                          probability};
  const std::array<ConfiguredSlot, 9> slots = configured_slots(config);
  Plan plan;
  for (std::size_t n = 0; n < slots.size(); ++n) {
    plan = append(plan, optional_init(slots[n].enabled, slots[n].slot, initial[n]));
  }
  return plan;
}

StateList<double> initial_state(const Plan& plan) {
  StateList<double> list;
  for (const auto& [slot, initial] : plan) {
    const Drawn* drawn = std::get_if<Drawn>(&initial);
    list.push_back(drawn ? initial_tensor(drawn->scheme, slot.shape, drawn->seed)
                         : Tensor<double>(slot.shape, std::get<double>(initial)));
  }
  return list;
}

Layer configured_layer(const LayerExtents& n, const LayerChoices& choices, const LayerOptions& options) {
  const LayerConfig config = config_of(n, options);
  check(config);
  check(n, choices, options);
  const Plan plan = layer_plan(config, choices.schemes, choices.seeds, options.dropout.value_or(0));
  return {config, unpack(config, initial_state(plan)), choices.mask, n.batch, n.sequence, options.dropout_seed};
}

Layer bias_free_layer(const LayerExtents& n, const LayerChoices& choices) { return configured_layer(n, choices); }

Layer output_bias_layer(const LayerExtents& n, const LayerChoices& choices) {
  LayerOptions options;
  options.output_bias = true;
  return configured_layer(n, choices, options);
}

}  // namespace attest
