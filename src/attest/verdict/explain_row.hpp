#pragma once
/// The second half of an explanation: a query row walked from its scores to its output through the numbered equations,
/// with the certified numbers, and beside them an implementation's answer where there is one.

#include <map>
#include <string>

#include "attest/verdict/judged_row.hpp"

namespace attest {

/// A row to be explained, wherever it comes from: a call, or a head of a layer.
struct ExplainedRow {
  RowOperands operands;
  Call call;
  std::string bias;                          ///< what the bias is made of, for people; see `bias_formula`
  std::map<std::string, RowAnswer> answers;  ///< by output
};

/// The walk as text. Evaluated in 128 bits, or in as many more as the digits shown need.
std::string explain_row(const ExplainedRow& row);

}  // namespace attest
