#pragma once
/// Random calls of layers: the masks, sinks and softcaps of random attention calls, with projections around them.

#include <iosfwd>

#include "attest/definitions/layer.hpp"
#include "support/generators.hpp"

namespace attest {

std::ostream& operator<<(std::ostream& out, const LayerProblem& problem);

/// What a generated layer may contain.
struct LayerSpace {
  bool biases = true;
  bool dropout = true;
  bool added_keys = true;
  CallSpace inside = {.alibi = false, .descale = false, .degenerate = false};
};

/// A whole call of a layer within the space, with at least one query and one key. Its numbers are small dyadic ones.
rc::Gen<LayerProblem> layers(const LayerSpace& space = {});

/// What is special about a layer.
std::vector<std::string> classes_of(const LayerProblem& problem);

/// n numbers.
rc::Gen<Vector<double>> vectors(std::size_t n);

/// A matrix of numbers.
rc::Gen<Matrix<double>> matrices(std::size_t rows, std::size_t columns);

}  // namespace attest
