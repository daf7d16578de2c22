#include "attest/cli/learn_record.hpp"

#include "attest/certify/training_bounds.hpp"
#include "attest/cli/progress.hpp"

namespace attest {

namespace {

/// Tensors of a record, filled step by step: each has the steps as its first axis.
class Stacked {
 public:
  explicit Stacked(std::size_t steps) : steps_(steps) {}

  void put(std::size_t step, const std::string& name, const Shape& shape, std::span<const double> entries) {
    Shape stacked{steps_};
    stacked.insert(stacked.end(), shape.begin(), shape.end());
    Array& array = archive.tensors.try_emplace(name, Array{Dtype::f64, xt::zeros<double>(stacked)}).first->second;
    std::ranges::copy(entries, array.values.begin() + static_cast<std::ptrdiff_t>(step * entries.size()));
  }

  void put(std::size_t step, const std::string& name, const Shape& shape, std::span<const Bounded> entries) {
    std::vector<double> values, bounds;
    for (const Bounded& entry : entries) values.push_back(entry.value), bounds.push_back(entry.bound);
    put(step, name, shape, values);
    put(step, "bound." + name, shape, bounds);
  }

  Archive archive;

 private:
  std::size_t steps_;
};

/// The shapes of the slots of a block, in their order.
std::vector<Shape> slot_shapes() {
  constexpr BlockExtents n{};
  return {{n.V, n.E}, {n.E}, {n.E}, {n.E, n.E}, {n.E}, {n.E, n.E}, {n.E}, {n.E, n.E}, {n.E}, {n.E, n.E},
          {n.E},      {n.E}, {n.E}, {n.E, n.H}, {n.H}, {n.H, n.E}, {n.E}, {n.E, n.V}, {n.V}};
}

Array integers(std::span<const std::size_t> numbers) {
  Tensor<double> values = Tensor<double>::from_shape({numbers.size()});
  std::ranges::copy(numbers, values.begin());
  return {Dtype::i64, std::move(values)};
}

}  // namespace

Archive learning_record(const DecoderBlock<double>& start, const Example<>& example, std::size_t steps) {
  const RecordedLoss<> recorded = recorded_loss(example);
  const std::vector<Shape> shapes = slot_shapes();
  Training<double> training = start_training<double>(start);
  Stacked record(steps);
  ProgressBar progress("bounds of each step");
  for (std::size_t t = 0; t < steps; ++t) {
    const BoundedStep step = bounded_step(recorded, training.block);
    record.put(t, "loss", {}, std::span(&step.loss, 1));
    record.put(t, "logits", {example.tokens.size(), BlockExtents{}.V}, step.logits);
    std::span<const Bounded> gradient = step.gradient;
    for (std::size_t n = 0; const TrainedSlot<const double>& slot : trained_slots(std::as_const(training.block))) {
      record.put(t, std::string(slot.name), shapes[n], slot.entries);
      record.put(t, fmt::format("gradient.{}", slot.name), shapes[n], gradient.first(slot.entries.size()));
      gradient = gradient.subspan(slot.entries.size());
      ++n;
    }
    training = train(training, example, learning_options(), 1).training;
    progress.show(t + 1, steps);
  }
  record.archive.tensors["tokens"] = integers(example.tokens);
  record.archive.tensors["targets"] = integers(example.targets);
  record.archive.metadata["schema"] = "attest-training-1";
  return std::move(record.archive);
}

}  // namespace attest
