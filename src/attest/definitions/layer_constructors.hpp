#pragma once
/// Chapters 07 and 09 (OPT, INI): how a layer comes into being: the plan of its slots, their first values, and the
/// three constructors. Multi-head self-attention: queries, keys and values are made from one input.

#include "attest/definitions/layer_state.hpp"

namespace attest {

/// One seed for each weight. Nothing else consumes one.
struct WeightSeeds {
  std::uint64_t query = 0;
  std::uint64_t key = 0;
  std::uint64_t value = 0;
  std::uint64_t output = 0;
};

/// The scheme of the three input projections, and that of the output projection.
struct WeightSchemes {
  Scheme input = Scheme::xavier_uniform;
  Scheme output = Scheme::xavier_uniform;
};

/// INI.D6  layer_plan(config, schemes, seeds, p): the slots of OPT.D5 with their initial values. Weights are drawn,
/// each from its seed; biases are 0; the probability is p. Only what is drawn consumes a seed, and zeros are not drawn.
Plan layer_plan(const LayerConfig& config, const WeightSchemes& schemes, const WeightSeeds& seeds, double probability);

/// INI.D7  initial_state(plan): the tensors of a plan, in its order.
StateList<double> initial_state(const Plan& plan);

/// What every constructor needs.
struct LayerExtents {
  std::size_t batch = 1;
  std::size_t sequence = 1;
  std::size_t model_width = 1;
  std::size_t heads = 1;
  std::size_t head_width = 1;
};

/// What every constructor may be given.
struct LayerChoices {
  WeightSeeds seeds;
  WeightSchemes schemes;
  std::optional<Matrix<bool>> mask;  ///< (S, S); true = visible
};

/// What the configured constructor may be given on top.
struct LayerOptions {
  bool input_bias = false;
  bool output_bias = false;
  std::optional<double> dropout;  ///< its probability
  std::uint64_t dropout_seed = 0;
};

/// A layer as it is made: its first state, and what it keeps to be called with.
struct Layer {
  LayerConfig config;
  LayerState<double> state;
  std::optional<Matrix<bool>> mask;
  std::size_t batch;
  std::size_t sequence;
  std::uint64_t dropout_seed;
};

/// OPT.D11  configured_layer(n, choices, options): as many key and value heads as query heads, all of one width; input
/// and output of the width of the model. Refuses OPT.C3 to OPT.C5 and DRP.C1.
Layer configured_layer(const LayerExtents& n, const LayerChoices& choices = {}, const LayerOptions& options = {});

/// OPT.D9  bias_free_layer(n, choices) = configured_layer(n, choices) with every option off.
Layer bias_free_layer(const LayerExtents& n, const LayerChoices& choices = {});

/// OPT.D10  output_bias_layer(n, choices) = configured_layer(n, choices) with the output bias as its only option.
Layer output_bias_layer(const LayerExtents& n, const LayerChoices& choices = {});

}  // namespace attest
