#pragma once
/// A machine that computes a tape in binary64 as another program might: sums in any order and brackets, products fused
/// into them or not, quotients by reciprocals, elementary functions up to an ulp off, derivatives in reverse mode.

#include <random>

#include "attest/scalar/recorded.hpp"

namespace attest {

class ForeignRun {
 public:
  ForeignRun(const Tape& tape, std::span<const double> inputs, std::uint64_t seed) : tape_(tape), random_(seed) {
    std::size_t given = 0;
    for (std::uint32_t n = 0; n < tape.steps.size(); ++n) {
      const Step& step = tape.steps[n];
      values_.push_back(step.operation == Operation::number  ? step.number
                        : step.operation == Operation::input ? inputs[given++]
                                                             : computed(n));
    }
  }

  const std::vector<double>& values() const { return values_; }

  /// Of a step, with respect to each input.
  std::vector<double> derivatives(Recorded y) {
    std::vector<std::vector<Term>> passed(tape_.steps.size());
    passed[y.step].push_back({1, 1, false});
    std::vector<double> adjoints(tape_.steps.size(), 0.0);
    for (std::size_t n = y.step + 1; n-- > 0;) {
      if (passed[n].empty()) continue;
      adjoints[n] = sum(std::move(passed[n]));
      pass_back(tape_.steps[n], values_[n], adjoints[n], passed);
    }
    std::vector<double> result;
    for (const std::uint32_t n : tape_.inputs) result.push_back(adjoints[n]);
    return result;
  }

 private:
  /// A product that is not formed yet, so that it may be fused into a sum; or else `a`.
  struct Term {
    double a, b;
    bool product;
    double rounded() const { return product ? a * b : a; }
  };

  const Tape& tape_;
  std::mt19937_64 random_;
  std::vector<double> values_;

  bool coin() { return random_() % 2 == 0; }

  /// The binary64 on either side of the real value, as far as long double knows it: at most an ulp off.
  double beside(long double y) {
    const double near = static_cast<double>(y);
    if (static_cast<long double>(near) == y || coin()) return near;
    return std::nextafter(near, static_cast<long double>(near) < y ? HUGE_VAL : -HUGE_VAL);
  }

  double quotient(double a, double b) { return coin() ? a / b : a * (1 / b); }

  double sum(std::vector<Term> terms) {
    while (terms.size() > 1) {
      std::swap(terms[random_() % terms.size()], terms.back());
      const Term last = terms.back();
      terms.pop_back();
      Term& other = terms[random_() % terms.size()];
      const double joined =
          last.product && coin() ? std::fma(last.a, last.b, other.rounded()) : last.rounded() + other.rounded();
      other = {joined, 1, false};
    }
    return terms.front().rounded();
  }

  /// The terms of a sum: often without its brackets, and without the rounding of its products.
  void add_terms(std::uint32_t n, double sign, std::vector<Term>& terms) {
    const Step& step = tape_.steps[n];
    const bool adds = step.operation == Operation::plus || step.operation == Operation::minus;
    if ((adds || step.operation == Operation::negative) && (values_.size() <= n || coin())) {
      add_terms(step.a, step.operation == Operation::negative ? -sign : sign, terms);
      if (adds) add_terms(step.b, step.operation == Operation::minus ? -sign : sign, terms);
    } else if (step.operation == Operation::times) {
      terms.push_back({sign * values_[step.a], values_[step.b], true});
    } else {
      terms.push_back({sign * values_[n], 1, false});
    }
  }

  double computed(std::uint32_t n) {
    const Step& step = tape_.steps[n];
    const double a = values_[step.a], b = values_[step.b];
    switch (step.operation) {
      case Operation::plus:
      case Operation::minus: {
        std::vector<Term> terms;
        add_terms(n, 1, terms);
        return sum(std::move(terms));
      }
      case Operation::over: return quotient(a, b);
      case Operation::exp: return beside(std::exp(static_cast<long double>(a)));
      case Operation::log: return beside(std::log(static_cast<long double>(a)));
      default: return applied<double>(step.operation, a, b);
    }
  }

  void pass_back(const Step& step, double y, double g, std::vector<std::vector<Term>>& passed) {
    const double a = values_[step.a], b = values_[step.b];
    const auto pass = [&](std::uint32_t to, double x) { passed[to].push_back({x, 1, false}); };
    const auto pass_times = [&](std::uint32_t to, double slope) { passed[to].push_back({g, slope, true}); };
    switch (step.operation) {
      case Operation::plus: pass(step.a, g), pass(step.b, g); break;
      case Operation::minus: pass(step.a, g), pass(step.b, -g); break;
      case Operation::negative: pass(step.a, -g); break;
      case Operation::times: pass_times(step.a, b), pass_times(step.b, a); break;
      case Operation::over:
        pass(step.a, quotient(g, b));
        switch (random_() % 3) {
          case 0: pass(step.b, -g * quotient(quotient(a, b), b)); break;
          case 1: pass(step.b, -(g * a) / (b * b)); break;
          default: pass(step.b, -quotient(g, b) * y); break;
        }
        break;
      case Operation::exp: pass_times(step.a, y); break;
      case Operation::log: pass(step.a, quotient(g, a)); break;
      case Operation::sqrt: pass(step.a, coin() ? g / (2 * y) : quotient(0.5 * g, y)); break;
      case Operation::positive_part: pass(step.a, a > 0 ? g : 0.0); break;
      default: break;
    }
  }
};

}  // namespace attest
