/// Chapters 01, 14 and 18: recorded numbers, running errors, and the bounds of a step of training.

#include <tuple>

#include "attest/certify/training_bounds.hpp"
#include "support/blocks.hpp"
#include "support/foreign_run.hpp"

namespace attest {
namespace {

constexpr BlockExtents N = small_extents;

Example<N> any_example() { return {any_tokens<N>(), any_tokens<N>()}; }

PROPERTY(NUM_P6, a_replayed_definition_is_the_definition) {
  const DecoderBlock<double, N> w = block_of<double, N>(*seeds());
  const Example<N> example = any_example();
  const RecordedLoss<N> recorded = recorded_loss(example);
  const std::vector<double> numbers = learned_numbers(w);
  const std::vector<double> replay = replayed<double>(recorded.tape, numbers);
  const Matrix<double> logits = decoder_block(w, example.tokens).logits;
  for (std::size_t n = 0; n < logits.size(); ++n) {
    RC_ASSERT(same_bits(replay[recorded.logits[n].step], logits.data()[n]));
  }
  RC_ASSERT(same_bits(replay[recorded.loss.step], loss_of(w, example)));
}

/// A formula of a few operations on a few numbers, whose last step is its result. Operands stay where the operations
/// have derivatives, and numbers stay moderate.
struct Formula {
  Tape tape;
  std::vector<double> inputs;
  Recorded result;
};

double any_input() { return std::ldexp(static_cast<double>(*between<std::int64_t>(1L << 51, 1L << 54)), -52); }

Formula any_formula() {
  Formula formula;
  std::tie(formula.tape, formula.result) = record([&] {
    std::vector<Recorded> steps;
    std::vector<double> values;
    const auto add = [&](Recorded x, double value) { steps.push_back(x), values.push_back(value); };
    for (int n = *between(1, 5); n > 0; --n) {
      formula.inputs.push_back(any_input());
      add(Recorded::input(), formula.inputs.back());
    }
    for (int n = *between(1, 12); n > 0; --n) {
      const std::size_t a = *between<std::size_t>(0, steps.size()), b = *between<std::size_t>(0, steps.size());
      const Recorded x = steps[a], y = steps[b];
      const double p = values[a], q = values[b];
      switch (*between(0, 10)) {
        case 0: add(x + y, p + q); break;
        case 1: add(x - y, p - q); break;
        case 2: add(-x, -p); break;
        case 3:
          if (std::abs(p * q) < 1e6) add(x * y, p * q);
          break;
        case 4:
          if (std::abs(q) > 0.01) add(x / y, p / q);
          break;
        case 5:
          if (std::abs(p) < 4) add(exp(x), std::exp(p));
          break;
        case 6:
          if (p > 0.01) add(log(x), std::log(p));
          break;
        case 7:
          if (p > 0.01) add(sqrt(x), std::sqrt(p));
          break;
        case 8: {  // of what rounding leaves of a square: a program that does not fuse finds 0
          const double square = values.front() * values.front();
          add(positive_part(steps.front() * steps.front() - lift<Recorded>(square)), 0);
          break;
        }
        default:
          if (std::abs(p) > 0.01) add(positive_part(x), positive_part(p));
          break;
      }
    }
    return steps.back();
  });
  return formula;
}

/// A weight of softmax whose scores are products: the shift that a program finds is one of those that it has rounded.
Formula any_weight() {
  Formula formula;
  for (int n = *between(2, 7); n > 0; --n) formula.inputs.insert(formula.inputs.end(), {any_input(), any_input()});
  std::tie(formula.tape, formula.result) = record([&] {
    const Vector<Recorded> scores =
        tabulate(formula.inputs.size() / 2, [](std::size_t) { return Recorded::input() * Recorded::input(); });
    return softmax(row_of(scores))(0);
  });
  return formula;
}

/// Whether a computed number is within its error of some member of the enclosure.
bool is_near(double computed, const Approximated& x) {
  return lower_end(x.real) - x.error.value <= computed && computed <= upper_end(x.real) + x.error.value;
}

PROPERTY(BND_B6, running_error) {
  const Formula formula = *rc::gen::arbitrary<bool>() ? any_weight() : any_formula();
  with_precision(property_bits, [&] {
    const std::vector<ComputedStep> steps = computed_steps(formula.tape, formula.inputs);
    const ForeignRun run(formula.tape, formula.inputs, *seeds());
    for (std::size_t n = 0; n < steps.size(); ++n) RC_ASSERT(is_near(run.values()[n], steps[n]));
  });
}

PROPERTY(BND_B7, running_error_of_derivatives) {
  const Formula formula = any_formula();
  with_precision(property_bits, [&] {
    const std::vector<ComputedStep> steps = computed_steps(formula.tape, formula.inputs);
    const std::vector<Approximated> slopes = computed_derivatives(formula.tape, steps, formula.result);
    const std::vector<double> found = ForeignRun(formula.tape, formula.inputs, *seeds()).derivatives(formula.result);
    for (std::size_t n = 0; n < slopes.size(); ++n) {
      RC_ASSERT(is_near(found[n], slopes[n]));
      std::vector<Dual<Enclosure>> along;
      for (const double x : formula.inputs) along.push_back({Enclosure(x), Enclosure(along.size() == n ? 1 : 0)});
      const Enclosure tangent = replayed<Dual<Enclosure>>(formula.tape, along)[formula.result.step].tangent;
      RC_ASSERT(is_narrow(tangent) && is_narrow(slopes[n].real) && meet(tangent, slopes[n].real));
    }
  });
}

bool is_within(double x, const Bounded& due) { return std::abs(x - due.value) <= due.bound; }

PROPERTY(TRN_B1, loss_logits_and_gradient_of_a_step) {
  const DecoderBlock<double, N> w = block_of<double, N>(*seeds());
  const RecordedLoss<N> recorded = recorded_loss(any_example());
  const BoundedStep due = bounded_step(recorded, w);
  ForeignRun run(recorded.tape, learned_numbers(w), *seeds());
  RC_ASSERT(is_within(run.values()[recorded.loss.step], due.loss));
  RC_ASSERT(is_within(loss_of(w, recorded.example), due.loss));
  for (std::size_t n = 0; n < due.logits.size(); ++n) {
    RC_ASSERT(is_within(run.values()[recorded.logits[n].step], due.logits[n]));
  }
  const std::vector<double> gradient = run.derivatives(recorded.loss);
  double greatest = 0;
  for (std::size_t n = 0; n < gradient.size(); ++n) {
    RC_ASSERT(is_within(gradient[n], due.gradient[n]));
    greatest = std::max(greatest, std::abs(gradient[n]));
  }
  const auto n = std::ranges::find(gradient, greatest, [](double x) { return std::abs(x); }) - gradient.begin();
  RC_ASSERT(
      !is_within(gradient[static_cast<std::size_t>(n)] * (1 + 0x1p-10), due.gradient[static_cast<std::size_t>(n)]));
}

}  // namespace
}  // namespace attest
