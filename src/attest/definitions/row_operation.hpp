#pragma once
/// Operations that act on each row of a tensor by itself: the nodes that stand beside attention in a model (Softmax,
/// and more to come). As in a call, every tensor is of doubles, which hold the values of every file format.

#include <variant>
#include <vector>

#include "attest/tensor/tensor.hpp"

namespace attest {

/// Which elements of a tensor are a row. The rows need not lie along the last axis.
struct RowForm {
  std::size_t width;  ///< elements of a row
  std::size_t inner;  ///< what the elements of a row lie apart: the product of the extents after the row's axes
};

/// element_of_row(r, c) = (floor(r / inner) * width + c) * inner + r mod inner: where element c of row r lies.
inline std::size_t element_of_row(const RowForm& form, std::size_t row, std::size_t c) {
  return (row / form.inner * form.width + c) * form.inner + row % form.inner;
}

/// SMX.D2 of each row.
struct SoftmaxRows {};

/// One operation and its operands.
struct RowOperation {
  Tensor<double> x;
  RowForm form;
  std::variant<SoftmaxRows> what;
};

}  // namespace attest
