#include "attest/certify/running_error.hpp"

namespace attest {

namespace {

/// Beyond it, and below its reciprocal for what is divided by, underflow would have to be followed more closely.
constexpr double largest_number = 0x1p64;
/// What a rule loses by underflow: at most five results of at most 2^-1074, each multiplied by three numbers at most.
constexpr Upper underflow{0x1p-800};

const FloatModel& model() {
  static const FloatModel binary64 = float_model(Format::f64);
  return binary64;
}

/// gamma(n), BND.B1, from above. Most n are small and come again.
Upper roundings(std::size_t n) {
  static thread_local std::vector<Upper> known;
  while (known.size() <= n && known.size() < 1024) known.push_back(magnitude(gamma(known.size(), model())));
  return n < known.size() ? known[n] : magnitude(gamma(n, model()));
}

void require_moderate(Upper x) {
  require(x.value <= largest_number, "BND.C5", "numbers, derivatives and reciprocals of divisors within 2^64, got {}",
          x.value);
}

/// 1 / x and, for any x that is off by the error of the step, how far it is from that.
struct Reciprocal {
  Upper size, error;
};

Reciprocal reciprocal(const ComputedStep& x) {
  const Upper size = magnitude(Enclosure(1) / x.real), relative = size * x.error;
  require_moderate(size * grown(relative));
  return {size, size * relative * grown(relative)};
}

/// How far the quotient of two computed numbers is from that of the real ones, before it is rounded.
Upper quotient_error(const ComputedStep& a, const Reciprocal& inverse) {
  return inverse.size * a.error + (magnitude(a.real) + a.error) * inverse.error;
}

/// A result that is a term of its own in every sum.
ComputedStep single(Enclosure real, Upper error) {
  const Upper size = magnitude(real) + error;
  return {{std::move(real), error}, error, size, 1};
}

/// A result that would be off by `before` and is rounded.
ComputedStep rounded(Enclosure real, Upper before, Upper relative) {
  const Upper size = magnitude(real) + before;
  return single(std::move(real), before + relative * size + underflow);
}

ComputedStep sum(Enclosure real, const ComputedStep& a, const ComputedStep& b) {
  ComputedStep s{{std::move(real), {}}, a.errors + b.errors, a.magnitudes + b.magnitudes, a.terms + b.terms};
  s.error = s.errors + roundings(s.terms - 1) * s.magnitudes;
  return s;
}

/// Every number that the greater of the two computed ones may be. It is subtracted as a real number like any other.
Enclosure shifts(const ComputedStep& a, const ComputedStep& b) {
  const auto computed = [](const ComputedStep& x) { return Enclosure(x.real + hull(-x.error.value, x.error.value)); };
  const Enclosure first = computed(a), second = computed(b);
  return hull(Enclosure(std::max(lower_end(first), lower_end(second))),
              Enclosure(std::max(upper_end(first), upper_end(second))));
}

ComputedStep computed(const Step& step, const ComputedStep& a, const ComputedStep& b) {
  if (step.operation == Operation::greatest) return single(shifts(a, b), {});
  Enclosure real = applied<Enclosure>(step.operation, a.real, b.real);
  switch (step.operation) {
    case Operation::plus:
    case Operation::minus: return sum(std::move(real), a, b);
    case Operation::negative: return {{std::move(real), a.error}, a.errors, a.magnitudes, a.terms};
    case Operation::positive_part: return single(std::move(real), a.error);
    case Operation::times:
      return rounded(std::move(real), magnitude(a.real) * b.error + (magnitude(b.real) + b.error) * a.error,
                     roundings(1));
    case Operation::over: return rounded(std::move(real), quotient_error(a, reciprocal(b)), roundings(2));
    case Operation::exp: {
      const Upper relative = a.error * grown(a.error), before = magnitude(real) * relative;
      return rounded(std::move(real), before, {model().exp_error});
    }
    case Operation::log: {
      const Upper relative = reciprocal(a).size * a.error;
      return rounded(std::move(real), relative * grown(relative), {model().log_error});
    }
    case Operation::sqrt: {
      reciprocal(a);  // the computed operand is positive
      const Upper before = a.error * magnitude(Enclosure(1) / real);
      return rounded(std::move(real), before, roundings(1));
    }
    default: break;
  }
  require(false, "BND.C4",
          "an operation with a rule for its roundings, got tanh, sin, cos, absolute or where_positive");
  return {};
}

/// The derivative of a step with respect to an operand, its error where it is evaluated at computed numbers, and how
/// often its evaluation and its product with the derivative of the step are rounded.
struct Slope {
  std::uint32_t operand;
  Enclosure real;
  Upper error;
  std::size_t roundings;
};

std::vector<Slope> slopes(const Step& step, const ComputedStep& y, const ComputedStep& a, const ComputedStep& b) {
  const Enclosure one(1);
  switch (step.operation) {
    case Operation::plus: return {{step.a, one, {}, 0}, {step.b, one, {}, 0}};
    case Operation::minus: return {{step.a, one, {}, 0}, {step.b, -one, {}, 0}};
    case Operation::negative: return {{step.a, -one, {}, 0}};
    case Operation::times: return {{step.a, b.real, b.error, 1}, {step.b, a.real, a.error, 1}};
    case Operation::over: {
      const Reciprocal inverse = reciprocal(b);
      const Upper lost = quotient_error(a, inverse);
      return {{step.a, one / b.real, inverse.error, 2},
              {step.b, -(y.real / b.real), (magnitude(y.real) + lost) * inverse.error + lost * inverse.size, 5}};
    }
    case Operation::exp: return {{step.a, y.real, y.error, 1}};
    case Operation::log: return {{step.a, one / a.real, reciprocal(a).error, 2}};
    case Operation::sqrt: return {{step.a, one / (y.real + y.real), reciprocal(y).error, 2}};
    case Operation::positive_part: {
      const bool decided = lower_end(a.real) > a.error.value || upper_end(a.real) < -a.error.value;
      return {{step.a, where_positive(a.real, one), {decided ? 0.0 : 1.0}, 0}};
    }
    default: return {};  // constants: no result depends on a shift
  }
}

/// The derivative of the result with respect to a step, as a sum of what its uses pass back.
struct Adjoint : ComputedStep {
  Adjoint() : ComputedStep{{Enclosure(0), {}}, {}, {}, 0} {}

  void receive(const Adjoint& from, const Slope& slope) {
    const Enclosure passed = from.real * slope.real;
    const Upper computed = magnitude(from.real) + from.error;
    Upper lost = magnitude(slope.real) * from.error + slope.error * computed;
    if (slope.roundings > 0) {
      lost = lost + attest::roundings(slope.roundings) * (magnitude(passed) + lost) + underflow;
    }
    real = real + passed;
    errors = errors + lost;
    magnitudes = magnitudes + magnitude(passed) + lost;
    ++terms;
  }

  void finish() {
    error = errors + attest::roundings(terms - 1) * magnitudes;
    require_moderate(magnitude(real) + error);
  }
};

}  // namespace

std::vector<ComputedStep> computed_steps(const Tape& tape, std::span<const double> inputs) {
  std::vector<ComputedStep> steps;
  steps.reserve(tape.steps.size());
  std::size_t given = 0;
  for (const Step& step : tape.steps) {
    const bool is_number = step.operation == Operation::number, is_input = step.operation == Operation::input;
    steps.push_back(is_number || is_input ? single(lift<Enclosure>(is_number ? step.number : inputs[given++]), {})
                                          : computed(step, steps[step.a], steps[step.b]));
    require_moderate(magnitude(steps.back().real) + steps.back().error);
  }
  return steps;
}

std::vector<Approximated> computed_derivatives(const Tape& tape, const std::vector<ComputedStep>& steps, Recorded y) {
  std::vector<Adjoint> adjoints(y.step + 1);
  adjoints[y.step].real = Enclosure(1);
  adjoints[y.step].terms = 1;
  for (std::size_t n = adjoints.size(); n-- > 0;) {
    if (adjoints[n].terms == 0) continue;  // the result does not depend on it
    adjoints[n].finish();
    const Step& step = tape.steps[n];
    for (const Slope& slope : slopes(step, steps[n], steps[step.a], steps[step.b])) {
      adjoints[slope.operand].receive(adjoints[n], slope);
    }
  }
  std::vector<Approximated> derivatives;
  for (const std::uint32_t n : tape.inputs) {
    derivatives.push_back(n <= y.step ? Approximated(adjoints[n]) : Approximated{Enclosure(0), {}});
  }
  return derivatives;
}

}  // namespace attest
