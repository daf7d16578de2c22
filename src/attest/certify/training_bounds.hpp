#pragma once
/// Chapter 14 (TRN): what a step of training must compute, and how far another program may be from it: a foreign block
/// with the same weights is judged by these numbers.

#include "attest/certify/running_error.hpp"
#include "attest/training/train.hpp"

namespace attest {

/// The binary64 nearest to a real number, as far as 128 bits tell, and a bound of the distance of computed ones from
/// it.
struct Bounded {
  double value;
  double bound;
};

Bounded bounded(const Enclosure& real, Upper error);

/// A loss, the logits in row-major order, and the gradient of the loss: the entries of each slot (DEC.D16) in order.
struct BoundedStep {
  Bounded loss;
  std::vector<Bounded> logits, gradient;
};

/// The loss of a block on an example, recorded: the tape has an input for each learned number.
template <BlockExtents N = BlockExtents{}>
struct RecordedLoss {
  Example<N> example;
  Tape tape;
  Recorded loss;
  std::vector<Recorded> logits;
};

/// The learned numbers of a block, slot by slot.
template <BlockExtents N>
std::vector<double> learned_numbers(const DecoderBlock<double, N>& w) {
  std::vector<double> numbers;
  for (const TrainedSlot<const double>& slot : trained_slots(w)) {
    numbers.insert(numbers.end(), slot.entries.begin(), slot.entries.end());
  }
  return numbers;
}

/// TRN.D19  recorded_loss(example): TRN.D12 on a tape, once for all weights.
template <BlockExtents N>
RecordedLoss<N> recorded_loss(const Example<N>& example) {
  auto [tape, ends] = record([&] {
    DecoderBlock<Recorded, N> w;
    for (const TrainedSlot<Recorded>& slot : trained_slots(w)) std::ranges::generate(slot.entries, Recorded::input);
    const Matrix<Recorded> logits = decoder_block(w, example.tokens).logits;
    const Recorded loss = mean_cross_entropy<Recorded>(logits, example.targets);
    return std::pair(loss, std::vector<Recorded>(logits.begin(), logits.end()));
  });
  return {example, std::move(tape), ends.first, std::move(ends.second)};
}

/// TRN.B1  bounded_step(recorded, w): certified loss, logits (DEC.D15) and gradient (TRN.D13) of a block, with BND.B6
/// and BND.B7.
template <BlockExtents N>
BoundedStep bounded_step(const RecordedLoss<N>& recorded, const DecoderBlock<double, N>& w) {
  return with_precision(128, [&] {
    DecoderBlock<Enclosure, N> real;
    const std::vector<double> numbers = learned_numbers(w);
    auto next = numbers.begin();
    for (const TrainedSlot<Enclosure>& slot : trained_slots(real)) {
      for (Enclosure& entry : slot.entries) entry = lift<Enclosure>(*next++);
    }
    const LossGradient<Enclosure, N> due = loss_gradient(real, recorded.example);
    const Matrix<Enclosure> logits = decoder_block(real, recorded.example.tokens).logits;
    const std::vector<ComputedStep> steps = computed_steps(recorded.tape, numbers);
    const std::vector<Approximated> slopes = computed_derivatives(recorded.tape, steps, recorded.loss);
    BoundedStep result{bounded(due.loss, steps[recorded.loss.step].error), {}, {}};
    for (std::size_t n = 0; n < logits.size(); ++n) {
      result.logits.push_back(bounded(logits.data()[n], steps[recorded.logits[n].step].error));
    }
    for (const TrainedSlot<const Enclosure>& slot : trained_slots(due.gradient)) {
      for (const Enclosure& entry : slot.entries) {
        result.gradient.push_back(bounded(entry, slopes[result.gradient.size()].error));
      }
    }
    return result;
  });
}

}  // namespace attest
