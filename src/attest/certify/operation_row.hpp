#pragma once
/// Chapter 17 (ENC): one row of an operation on rows: what the rules for infinities and NaN say of it, and its units.

#include <optional>
#include <string>
#include <vector>

#include "attest/definitions/row_operation.hpp"
#include "attest/scalar/enclosure.hpp"

namespace attest {

/// The operands of one row, picked out of an operation's tensors.
struct OperationRow {
  Vector<double> x;
  Vector<double> scale;    ///< RMS norm: a factor for each element
  Vector<double> cosines;  ///< rotary embedding: one for each pair
  Vector<double> sines;    ///<
};

OperationRow operands_of(const RowOperation& operation, std::size_t row);

/// The row's value by its definition, in enclosures. An operand that is not finite counts as 0, except that softmax
/// does not visit it.
Vector<Enclosure> values_of(const RowOperation& operation, const OperationRow& row);

/// ENC.D8  rules_of(row)_c: the value that infinities and NaN among the operands, or a quotient 0/0, give element c;
/// nullopt where the definition gives it.
std::vector<std::optional<double>> rules_of(const RowOperation& operation, const OperationRow& row);

/// ENC.D7  units_of(row)_c: softmax w_c (1 + |s_c - m| + sum_k w_k |s_k - m|) with m the greatest score; RMS norm
/// (3/2) |y_c|; rotary embedding |x cos| + |y sin| of the two terms of a rotated channel and |x_c| of a copied one.
std::vector<double> units_of(const RowOperation& operation, const OperationRow& row, const Vector<Enclosure>& values);

/// The unit as a report prints it.
std::string unit_name(const RowOperation& operation);

}  // namespace attest
