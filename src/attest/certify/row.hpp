#pragma once
/// Chapter 17 (ENC): one query row evaluated in enclosures, with the rule table and the call's conventions for empty
/// rows applied, and the unit in which each element's distance is measured.

#include <vector>

#include "attest/certify/certified.hpp"
#include "attest/definitions/attention.hpp"
#include "attest/definitions/nonfinite.hpp"

namespace attest {

/// Every output of one row; an output that nobody asked for is left empty.
struct RowValues {
  std::vector<Measured> out;      ///< (Dv)
  std::vector<Measured> lse;      ///< one
  std::vector<Measured> weights;  ///< (Sk)
  std::vector<Measured> scores;   ///< (Sk)
};

/// Which outputs of a row to evaluate.
struct RowWanted {
  bool out, lse, weights, scores;
};

/// Some rows of one head as `evaluate_row` needs them: the operands as enclosures, with 0 for what is not finite, and
/// the inputs as they were given, from which the rules are read.
struct EnclosedHead {
  Head<Enclosure> head;
  Head<double> given;
  bool finite;  ///< no rule applies
};

/// The values of row i of the head.
RowValues evaluate_row(const EnclosedHead& operands, std::size_t i, const Call& call, const RowWanted& wanted);

}  // namespace attest
