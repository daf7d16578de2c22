/// Chapter 14: loss, optimiser, loop.

#include "attest/training/train.hpp"
#include "support/blocks.hpp"

namespace attest {
namespace {

using Tangent = Dual<Enclosure>;
constexpr BlockExtents N = small_extents;

/// A row of logits and one that says where they go, and targets.
struct Logits {
  Tensor<double> values, direction;
  std::vector<std::size_t> targets;
};

Logits any_logits() {
  const Shape shape = {*between<std::size_t>(1, 5), *between<std::size_t>(1, 6)};
  Logits any{*tensors(shape, *between(-6, 4)), *tensors(shape, -3), {}};
  for (std::size_t i = 0; i < shape[0]; ++i) any.targets.push_back(*between<std::size_t>(0, shape[1]));
  RC_CLASSIFY(shape[1] == 1, "one token to tell apart");
  return any;
}

PROPERTY(TRN_P1, loss_gradient_is_the_transpose_of_its_tangent) {
  const Logits any = any_logits();
  const Row<std::size_t> targets = any.targets;
  with_precision(property_bits, [&] {
    const Matrix<Enclosure> logits = lifted<Enclosure>(any.values), direction = lifted<Enclosure>(any.direction);
    Matrix<Tangent> moved = Matrix<Tangent>::from_shape(logits.shape());
    for (std::size_t n = 0; n < moved.size(); ++n) moved.data()[n] = {logits.data()[n], direction.data()[n]};
    const Matrix<Enclosure> g = mean_cross_entropy_gradient(logits, targets);
    const Enclosure along = mean_cross_entropy(moved, targets).tangent;
    const Enclosure back =
        sum_over<Enclosure>(g.size(), [&](std::size_t n) -> Enclosure { return g.data()[n] * direction.data()[n]; });
    RC_ASSERT(is_narrow(along) && is_narrow(back));
    RC_ASSERT(meet(along, back));
  });
}

PROPERTY(TRN_P2, rows_of_the_loss_gradient_sum_to_zero) {
  const Logits any = any_logits();
  with_precision(property_bits, [&] {
    const Matrix<Enclosure> logits = lifted<Enclosure>(any.values);
    const Matrix<Enclosure> g = mean_cross_entropy_gradient(logits, Row<std::size_t>(any.targets));
    for (std::size_t i = 0; i < g.shape(0); ++i) {
      const Enclosure sum = sum_over<Enclosure>(g.shape(1), [&](std::size_t c) { return g(i, c); });
      RC_ASSERT(is_narrow(sum) && contains(sum, 0));
    }
  });
}

/// A row of tokens and what comes next, any.
Example<N> any_example() { return {any_tokens<N>(), any_tokens<N>()}; }

PROPERTY(TRN_P3, first_loss_is_the_logarithm_of_the_vocabulary) {
  const std::uint64_t seed = *seeds();
  const Example<N> example = any_example();
  with_precision(property_bits, [&] {
    const Enclosure loss = loss_of(initial_block<Enclosure, N>(seed), example);
    RC_ASSERT(is_narrow(loss) && meet(loss, log(Enclosure(static_cast<int>(N.V)))));
  });
}

/// What Adam may be told.
AdamOptions any_options() {
  return {*rc::gen::element(0.001, 0.5, 0.0), *rc::gen::element(0.9, 0.0, 0.5), *rc::gen::element(0.999, 0.0, 0.75),
          *rc::gen::element(1e-8, 1.0)};
}

PROPERTY(TRN_P4, first_step_of_adam_follows_the_sign_of_the_gradient) {
  const AdamOptions options = any_options();
  const double w = *rc::gen::element(0.0, 1.0, -3.5), g = *rc::gen::element(0.0, 1.0, -3.5, 0x1p-40, 1e6);
  with_precision(property_bits, [&] {
    const AdamDecay<Enclosure> decay{Enclosure(options.first_decay), Enclosure(options.second_decay)};
    const AdamEntry<Enclosure> after =
        adam_entry<Enclosure>({Enclosure(w), Enclosure(0), Enclosure(0)}, Enclosure(g), decay, options);
    const Enclosure due =
        Enclosure(w) - Enclosure(options.rate) * Enclosure(g) / (absolute(Enclosure(g)) + Enclosure(options.epsilon));
    RC_ASSERT(is_narrow(after.parameter) && meet(after.parameter, due));
  });
}

template <BlockExtents M>
bool same_block(const DecoderBlock<double, M>& a, const DecoderBlock<double, M>& b) {
  const auto x = trained_slots(a), y = trained_slots(b);
  bool same = same_bits(a.norm1.epsilon, b.norm1.epsilon) && same_bits(a.norm2.epsilon, b.norm2.epsilon);
  for (std::size_t n = 0; n < x.size(); ++n) {
    same = same && std::equal(x[n].entries.begin(), x[n].entries.end(), y[n].entries.begin(),
                              [](double p, double q) { return same_bits(p, q); });
  }
  return same;
}

PROPERTY(TRN_P5, training_in_pieces_is_the_whole_training) {
  const std::uint64_t seed = *seeds();
  const Example<N> example = any_example();
  const std::size_t first = *between<std::size_t>(0, 5), second = *between<std::size_t>(0, 5);
  const Training<double, N> start = start_training<double>(block_of<double, N>(seed));
  const Trained<double, N> whole = train(start, example, learning_options(), first + second);
  const Trained<double, N> piece = train(start, example, learning_options(), first);
  const Trained<double, N> rest = train(piece.training, example, learning_options(), second);
  RC_ASSERT(same_block(whole.training.block, rest.training.block));
  std::vector<double> losses = piece.losses;
  losses.insert(losses.end(), rest.losses.begin(), rest.losses.end());
  RC_ASSERT(losses.size() == first + second);
  RC_ASSERT(std::equal(losses.begin(), losses.end(), whole.losses.begin(),
                       [](double a, double b) { return same_bits(a, b); }));
}

PROPERTY(TRN_P6, adam_leaves_the_probability_of_dropout) {
  LayerConfig config = *configs();
  config.dropout = true;
  const AdamOptions options = any_options();
  const LayerState<double> w = unpack(config, lists<double>(layer_shapes(config)));
  const LayerState<double> g = unpack(config, lists<double>(layer_shapes(config)));
  const LayerState<double> after = adam_step<double>(w, g, adam_start<double>(w), options).parameters;
  RC_ASSERT(same_bits(after.probability, w.probability));
  const auto before_slots = trained_slots(w), after_slots = trained_slots(after), g_slots = trained_slots(g);
  std::size_t learned = 0;
  for (std::size_t n = 0; n < g_slots.size(); ++n) {
    for (std::size_t e = 0; e < g_slots[n].entries.size(); ++e, ++learned) {
      const bool still = same_bits(before_slots[n].entries[e], after_slots[n].entries[e]);
      RC_ASSERT(still || g_slots[n].entries[e] != 0);
      RC_ASSERT(!still || g_slots[n].entries[e] == 0 || options.rate == 0);
    }
  }
  std::size_t listed = 0;
  for (const Tensor<double>& tensor : pack(w)) listed += tensor.size();
  RC_ASSERT(learned + 1 == listed);
}

PROPERTY(TRN_P7, gradient_of_the_loss_is_the_transpose_of_its_tangent) {
  const std::uint64_t seed = *seeds(), direction = *seeds();
  const Example<N> example = any_example();
  with_precision(property_bits, [&] {
    const DecoderBlock<Enclosure, N> w = block_of<Enclosure, N>(seed), t = block_of<Enclosure, N>(direction);
    DecoderBlock<Tangent, N> moved;
    const auto slots = trained_slots(moved);
    for (std::size_t n = 0; n < slots.size(); ++n) {
      for (std::size_t e = 0; e < slots[n].entries.size(); ++e) {
        slots[n].entries[e] = {trained_slots(w)[n].entries[e], trained_slots(t)[n].entries[e]};
      }
    }
    const LossGradient<Enclosure, N> d = loss_gradient(w, example);
    const Tangent loss = loss_of(moved, example);
    const Enclosure back = inner_product<Enclosure>(trained_slots(d.gradient), trained_slots(t));
    RC_ASSERT(is_narrow(loss.tangent) && is_narrow(back) && is_narrow(d.loss));
    RC_ASSERT(meet(loss.value, d.loss) && meet(loss.tangent, back));
  });
}

PROPERTY(TRN_P8, under_a_constant_gradient_all_steps_of_adam_are_equal) {
  constexpr BlockExtents tiny{1, 2, 1, 2};
  const AdamOptions options = any_options();
  const std::uint64_t seed = *seeds(), other = *seeds();
  const int steps = *between(1, 6);
  with_precision(property_bits, [&] {
    const DecoderBlock<Enclosure, tiny> start = block_of<Enclosure, tiny>(seed), g = block_of<Enclosure, tiny>(other);
    AdamStep<DecoderBlock<Enclosure, tiny>, Enclosure> now{start, adam_start<Enclosure>(start)};
    for (int t = 0; t < steps; ++t) now = adam_step<Enclosure>(now.parameters, g, now.state, options);
    const auto before = trained_slots(start), slope = trained_slots(g);
    const auto after = trained_slots(now.parameters);
    for (std::size_t n = 0; n < before.size(); ++n) {
      for (std::size_t e = 0; e < before[n].entries.size(); ++e) {
        const Enclosure& along = slope[n].entries[e];
        const Enclosure step = Enclosure(options.rate) * along / (absolute(along) + Enclosure(options.epsilon));
        RC_ASSERT(is_narrow(after[n].entries[e]));
        RC_ASSERT(meet(after[n].entries[e], Enclosure(before[n].entries[e] - steps * step)));
      }
    }
  });
}

}  // namespace
}  // namespace attest
