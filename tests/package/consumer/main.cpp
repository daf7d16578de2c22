/// Two equal keys share a query's weight, so the output is the mean of their values: exactly 2, in every arithmetic.

#include <algorithm>
#include <attest/certify/certify.hpp>
#include <attest/definitions/attention.hpp>
#include <attest/files/case.hpp>
#include <cstdio>
#include <initializer_list>

namespace {

bool one_query() {
  const attest::Vector<double> query = {1.0};
  const attest::Matrix<double> keys = {{3.0}, {3.0}};
  const attest::Matrix<double> values = {{1.0}, {3.0}};
  return attest::compute(attest::row_of(query), keys, values)(0) == 2.0;
}

/// Numbers along the sequence of a tensor (1, 1, n, 1).
attest::Tensor<double> sequence(std::initializer_list<double> numbers) {
  attest::Tensor<double> tensor = attest::Tensor<double>::from_shape({1, 1, numbers.size(), 1});
  std::copy(numbers.begin(), numbers.end(), tensor.begin());
  return tensor;
}

attest::Problem two_keys() {
  attest::Problem problem;
  problem.inputs.q = sequence({1.0});
  problem.inputs.k = sequence({3.0, 3.0});
  problem.inputs.v = sequence({1.0, 3.0});
  return problem;
}

bool whole_call() { return attest::attention<double>(two_keys()).at(0, 0, 0).output(0) == 2.0; }

bool certified() {
  const auto outputs = attest::certify(two_keys(), {{"out", attest::Format::f32}});
  return outputs.at("out").elements.at(0).lower == 2.0;
}

bool refused() {
  try {
    attest::read_case("no such file");
  } catch (const attest::Refused&) {
    return true;
  }
  return false;
}

}  // namespace

int main() {
  const bool passed = one_query() && whole_call() && certified() && refused();
  std::puts(passed ? "2" : "the installed library gives another value");
  return passed ? 0 : 1;
}
