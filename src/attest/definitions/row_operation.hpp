#pragma once
/// Operations that act on each row of a tensor by itself: the nodes that stand beside attention in a model (CNV.D5 to
/// CNV.D7). As in a call, tensors are of doubles, which hold the values of every file format.

#include <variant>
#include <vector>

#include "attest/definitions/positions.hpp"
#include "attest/tensor/tensor.hpp"

namespace attest {

/// SMX.D2 of each row.
struct SoftmaxRows {};

/// NRM.D4 of each row.
struct RmsNormRows {
  Tensor<double> scale;  ///< the gamma of every element: of the operand's shape
  double epsilon;        ///< finite and at least 0
};

/// POS.D6 of each row.
struct RotaryRows {
  Matrix<double> cosines;           ///< (places, half of the rotated channels)
  Matrix<double> sines;             ///< the same shape
  std::vector<std::size_t> places;  ///< for each row, which row of the two is its own
  Pairing pairing;
};

/// One operation and the tensor whose rows it acts on.
struct RowOperation {
  Tensor<double> x;
  RowForm form;
  std::variant<SoftmaxRows, RmsNormRows, RotaryRows> what;
};

}  // namespace attest
