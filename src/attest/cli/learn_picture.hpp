#pragma once
/// What `attest learn` draws: the curve of the loss, in a terminal and in a file, and attention weights as squares.

#include <string>
#include <vector>

#include "attest/tensor/tensor.hpp"

namespace attest {

/// The losses as a picture of characters, their logarithms upwards, with room for so many steps.
std::string curve_of_characters(const std::vector<double>& losses, std::size_t steps);

/// The curve, and the attention weights before and after, as a picture for a browser.
std::string learning_svg(const std::vector<double>& losses, const Matrix<double>& before, const Matrix<double>& after);

}  // namespace attest
