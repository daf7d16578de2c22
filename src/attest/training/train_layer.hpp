#pragma once
/// Chapter 14 (TRN): the configured layer in training, with biases and dropout: the same loss and the same optimiser.

#include "attest/gradients/layer_gradient.hpp"
#include "attest/training/train.hpp"

namespace attest {

/// A layer in training. Its outputs are read as logits, its call is that of a single batch entry.
struct LayerTraining {
  LayerProblem problem;
  AdamState<LayerState<double>, double> adam;
};

/// A layer after some steps, and the loss before each of them.
struct TrainedLayer {
  LayerTraining training;
  std::vector<double> losses;
};

/// TRN.D16  start_layer_training(problem): nothing remembered yet.
LayerTraining start_layer_training(const LayerProblem& problem);

/// TRN.D17  layer_logits(problem): the outputs of batch entry 0, a row for each query.
Matrix<double> layer_logits(const LayerProblem& problem);

/// TRN.D18  train_layer(training, targets, options, seed, steps): so many steps of Adam along the gradient of TRN.D2.
/// Where the layer has dropout, step t draws its kept mask from TRN.D10 of the seed and t.
TrainedLayer train_layer(const LayerTraining& training, Row<std::size_t> targets, const AdamOptions& options,
                         std::uint64_t seed, std::size_t steps);

}  // namespace attest
