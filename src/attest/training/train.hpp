#pragma once
/// Chapter 14 (TRN): the training loop as a pure function. Everything random comes from one seed, so that a run is
/// a function of its arguments, bit for bit.

#include "attest/definitions/initialisation.hpp"
#include "attest/gradients/decoder_block_gradient.hpp"
#include "attest/training/adam.hpp"
#include "attest/training/loss.hpp"

namespace attest {

/// A row of tokens, and for each of them the token that comes next.
template <BlockExtents N = BlockExtents{}>
struct Example {
  std::array<std::size_t, N.S> tokens, targets;
};

/// TRN.D9  repeating_sequence: 0, 1, ..., V-1, 0, 1, ... and the same one place further.
template <BlockExtents N = BlockExtents{}>
Example<N> repeating_sequence() {
  Example<N> example;
  for (std::size_t i = 0; i < N.S; ++i) {
    example.tokens[i] = i % N.V;
    example.targets[i] = (i + 1) % N.V;
  }
  return example;
}

/// TRN.D10  slot_seed(seed, n): the words 2n and 2n + 1 of the seed, the first one high.
std::uint64_t slot_seed(std::uint64_t seed, std::uint64_t n);

/// TRN.D11  initial_block(seed): norms with gamma 1 and beta 0, biases 0, the map to the logits 0, all other weights by
/// xavier_uniform with D10 of their number in the record.
template <Scalar T, BlockExtents N = BlockExtents{}>
DecoderBlock<T, N> initial_block(std::uint64_t seed) {
  DecoderBlock<T, N> w;
  auto draw = [&, n = std::uint64_t(0)](auto& weight) mutable {
    const Tensor<double> drawn =
        initial_tensor(Scheme::xavier_uniform, {weight.shape()[0], weight.shape()[1]}, slot_seed(seed, n++));
    std::transform(drawn.begin(), drawn.end(), weight.begin(), lift<T>);
  };
  draw(w.embed), draw(w.wq.weight), draw(w.wk.weight), draw(w.wv.weight), draw(w.wo.weight);
  draw(w.ff1.weight), draw(w.ff2.weight);
  w.unembed.weight.fill(T(0));
  for (const TrainedSlot<T>& slot : trained_slots(w)) {
    const bool is_factor = slot.name.ends_with(".gamma"), is_term = slot.name.ends_with(".beta");
    if (is_factor || is_term || slot.name.ends_with(".bias")) std::ranges::fill(slot.entries, T(is_factor ? 1 : 0));
  }
  return w;
}

/// TRN.D12  loss_of(w, example): TRN.D2 of the logits of the block.
template <Scalar T, BlockExtents N>
T loss_of(const DecoderBlock<T, N>& w, const Example<N>& example) {
  return mean_cross_entropy<T>(decoder_block(w, example.tokens).logits, example.targets);
}

/// The loss, and its derivative with respect to every parameter.
template <class T, BlockExtents N>
struct LossGradient {
  T loss;
  DecoderBlock<T, N> gradient;
};

/// TRN.D13  loss_gradient(w, example): DEC.D21 of TRN.D3.
template <Scalar T, BlockExtents N>
LossGradient<T, N> loss_gradient(const DecoderBlock<T, N>& w, const Example<N>& example) {
  const BlockStages<T, N> stages = decoder_block(w, example.tokens);
  const Matrix<T> logits = stages.logits;
  return {
      mean_cross_entropy<T>(logits, example.targets),
      decoder_block_gradient<T, N>(w, example.tokens, stages, mean_cross_entropy_gradient<T>(logits, example.targets))};
}

/// The numbers of Adam with which the block of chapter 12 learns its sequence: those of the paper.
inline AdamOptions learning_options() { return {}; }

/// A block in training.
template <class T, BlockExtents N = BlockExtents{}>
struct Training {
  DecoderBlock<T, N> block;
  AdamState<DecoderBlock<T, N>, T> adam;
};

/// TRN.D14  start_training(block): nothing remembered yet.
template <Scalar T, BlockExtents N>
Training<T, N> start_training(const DecoderBlock<T, N>& block) {
  return {block, adam_start<T>(block)};
}

/// A block after some steps, and the loss before each of them.
template <class T, BlockExtents N = BlockExtents{}>
struct Trained {
  Training<T, N> training;
  std::vector<T> losses;
};

/// TRN.D15  train(training, example, options, steps): so many times, a step of Adam along the gradient of the loss.
template <Scalar T, BlockExtents N>
Trained<T, N> train(const Training<T, N>& training, const Example<N>& example, const AdamOptions& options,
                    std::size_t steps) {
  Trained<T, N> run{training, {}};
  for (std::size_t t = 0; t < steps; ++t) {
    const LossGradient<T, N> d = loss_gradient(run.training.block, example);
    auto [block, adam] = adam_step<T>(run.training.block, d.gradient, run.training.adam, options);
    run.training = {std::move(block), std::move(adam)};
    run.losses.push_back(d.loss);
  }
  return run;
}

#define ATTEST_TRAIN(KEYWORD)                                                                                         \
  KEYWORD template BlockStages<double> decoder_block(const DecoderBlock<double>&, const std::array<std::size_t, 8>&); \
  KEYWORD template Trained<double> train(const Training<double>&, const Example<>&, const AdamOptions&, std::size_t);
ATTEST_TRAIN(extern)

}  // namespace attest
