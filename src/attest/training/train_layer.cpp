#include "attest/training/train_layer.hpp"

namespace attest {

namespace {

/// The layer in training, with the weights that dropout keeps in this step.
LayerProblem with_kept(LayerProblem problem, std::uint64_t seed) {
  problem.training = true;
  if (problem.state.probability) {
    const Shape weights = shape_of_output("weights", problem);
    problem.masks.kept = kept_mask(seed, *problem.state.probability, weights);
  }
  return problem;
}

/// A state of gradients beside the parameters: dropout's probability has none, and keeps its place.
LayerState<double> with_probability(LayerState<double> gradient, const LayerState<double>& parameters) {
  gradient.probability = parameters.probability;
  return gradient;
}

}  // namespace

LayerTraining start_layer_training(const LayerProblem& problem) { return {problem, adam_start<double>(problem.state)}; }

Matrix<double> layer_logits(const LayerProblem& problem) {
  const std::vector<LayerRow<double>> rows = layer<double>(problem);
  return tabulate(problem.query.shape(1), problem.config.output_width,
                  [&](std::size_t i, std::size_t c) { return rows[i].output(c); });
}

TrainedLayer train_layer(const LayerTraining& training, Row<std::size_t> targets, const AdamOptions& options,
                         std::uint64_t seed, std::size_t steps) {
  TrainedLayer run{training, {}};
  for (std::size_t t = 0; t < steps; ++t) {
    const LayerProblem problem = with_kept(run.training.problem, slot_seed(seed, t));
    const Matrix<double> logits = layer_logits(problem);
    run.losses.push_back(mean_cross_entropy(logits, targets));
    Tensor<double> g = mean_cross_entropy_gradient(logits, targets);
    g.reshape(Shape{1, logits.shape(0), logits.shape(1)});
    const LayerState<double> gradient = with_probability(layer_gradient<double>(problem, g).state, problem.state);
    auto [state, adam] = adam_step<double>(problem.state, gradient, run.training.adam, options);
    run.training.problem.state = std::move(state);
    run.training.adam = std::move(adam);
  }
  return run;
}

}  // namespace attest
