#pragma once
/// Recorded numbers: a definition that is read in them computes nothing and writes down its operations instead, in the
/// order in which it asks for them (a *tape*: Griewank and Walther 2008, section 2.2). It works because a scalar has no
/// comparison: no definition looks at a number to decide what comes next.

#include <array>
#include <cstdint>
#include <utility>

#include "attest/scalar/error.hpp"
#include "attest/scalar/scalar.hpp"

namespace attest {

/// `greatest` is the shift of a row of two; `number` and `input` have no operands.
enum class Operation {
  number,
  input,
  plus,
  minus,
  negative,
  times,
  over,
  exp,
  log,
  tanh,
  sqrt,
  sin,
  cos,
  greatest,
  positive_part,
  absolute,
  where_positive
};

/// One operation, on the results of the steps a and b. Of a `number`, its value.
struct Step {
  Operation operation;
  std::uint32_t a = 0, b = 0;
  double number = 0;
};

/// What was recorded. Step 0 is the number 0. `inputs` are the steps whose values are given when the tape is run.
struct Tape {
  std::vector<Step> steps{{Operation::number}};
  std::vector<std::uint32_t> inputs;
};

/// NUM.D9  Recorded: the number of a step on the tape of the `record` that is running.
class Recorded {
 public:
  std::uint32_t step = 0;

  Recorded() = default;
  explicit Recorded(int n) : Recorded(Step{Operation::number, 0, 0, static_cast<double>(n)}) {}
  explicit Recorded(const Step& next) : step(static_cast<std::uint32_t>(tape().steps.size())) {
    tape().steps.push_back(next);
  }
  Recorded(Operation operation, Recorded a) : Recorded(Step{operation, a.step}) {}
  Recorded(Operation operation, Recorded a, Recorded b) : Recorded(Step{operation, a.step, b.step}) {}

  /// A number that is given when the tape is run.
  static Recorded input() {
    const Recorded x(Step{Operation::input});
    tape().inputs.push_back(x.step);
    return x;
  }

  friend Recorded operator+(Recorded x, Recorded y) { return {Operation::plus, x, y}; }
  friend Recorded operator-(Recorded x, Recorded y) { return {Operation::minus, x, y}; }
  friend Recorded operator*(Recorded x, Recorded y) { return {Operation::times, x, y}; }
  friend Recorded operator/(Recorded x, Recorded y) { return {Operation::over, x, y}; }
  friend Recorded operator-(Recorded x) { return {Operation::negative, x}; }
  friend Recorded exp(Recorded x) { return {Operation::exp, x}; }
  friend Recorded log(Recorded x) { return {Operation::log, x}; }
  friend Recorded tanh(Recorded x) { return {Operation::tanh, x}; }
  friend Recorded sqrt(Recorded x) { return {Operation::sqrt, x}; }
  friend Recorded sin(Recorded x) { return {Operation::sin, x}; }
  friend Recorded cos(Recorded x) { return {Operation::cos, x}; }

 private:
  template <class F>
  friend auto record(F&& f);

  static inline thread_local Tape* running = nullptr;

  static Tape& tape() {
    if (running == nullptr) throw CannotAnswer("a recorded number outside of a recording");
    return *running;
  }
};

template <>
struct Arithmetic<Recorded> {
  static Recorded lift(double x) { return Recorded(Step{Operation::number, 0, 0, x}); }
  static Recorded shift_of(std::span<const Recorded> row) {
    Recorded shift = row.front();
    for (const Recorded& x : row) shift = {Operation::greatest, shift, x};
    return shift;
  }
  static Recorded positive_part(Recorded x) { return {Operation::positive_part, x}; }
  static Recorded absolute(Recorded x) { return {Operation::absolute, x}; }
  static Recorded where_positive(Recorded x, Recorded y) { return {Operation::where_positive, x, y}; }
};

/// The tape of what f does, and what f returns. A recording may stand inside another one.
template <class F>
auto record(F&& f) {
  Tape tape;
  struct Scope {
    Tape* outer;
    ~Scope() { Recorded::running = outer; }
  } scope{std::exchange(Recorded::running, &tape)};
  auto results = f();
  return std::pair(std::move(tape), std::move(results));
}

/// What an operation makes of its operands.
template <Scalar T>
T applied(Operation operation, const T& a, const T& b) {
  switch (operation) {
    case Operation::number:
    case Operation::input: break;
    case Operation::plus: return a + b;
    case Operation::minus: return a - b;
    case Operation::negative: return -a;
    case Operation::times: return a * b;
    case Operation::over: return a / b;
    case Operation::exp: return exp(a);
    case Operation::log: return log(a);
    case Operation::tanh: return tanh(a);
    case Operation::sqrt: return sqrt(a);
    case Operation::sin: return sin(a);
    case Operation::cos: return cos(a);
    case Operation::greatest: return shift_of<T>(std::array{a, b});
    case Operation::positive_part: return positive_part(a);
    case Operation::absolute: return absolute(a);
    case Operation::where_positive: return where_positive(a, b);
  }
  return T(0);
}

/// NUM.D10  replayed(tape, x): the result of every step in the arithmetic T, the inputs being x.
template <Scalar T>
std::vector<T> replayed(const Tape& tape, std::span<const T> inputs) {
  std::vector<T> results;
  results.reserve(tape.steps.size());
  std::size_t given = 0;
  for (const Step& step : tape.steps) {
    if (step.operation == Operation::number) {
      results.push_back(lift<T>(step.number));
    } else if (step.operation == Operation::input) {
      results.push_back(inputs[given++]);
    } else {
      results.push_back(applied<T>(step.operation, results[step.a], results[step.b]));
    }
  }
  return results;
}

}  // namespace attest
