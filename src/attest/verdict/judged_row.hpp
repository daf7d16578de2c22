#pragma once
/// An implementation's answer to one row beside the certified elements.

#include <functional>
#include <string>
#include <vector>

#include "attest/certify/row.hpp"
#include "attest/verdict/compare.hpp"
#include "attest/verdict/page.hpp"

namespace attest {

/// An implementation's answer to one row: out, lse, weights or scores.
struct RowAnswer {
  Format format;
  std::vector<double> values;
};

/// Makes the operands of a row, which is row 0 of them, in the precision at hand.
using RowOperands = std::function<EnclosedHead()>;

struct JudgedRow {
  Format format;
  std::vector<Element> due;
  std::vector<double> answers;
  std::size_t farthest;  ///< in units

  std::string answer(std::size_t n) const;  ///< with as many digits as the format has
  std::string steps(std::size_t n) const;
  std::string units(std::size_t n) const;
};

JudgedRow judged_row(const RowOperands& operands, const Call& call, const std::string& output, const RowAnswer& answer);

/// How many decimal digits tell the values of a format apart.
int decimal_digits(Format format);

/// The columns of a table that show an answer and its distances, and the cells of element n.
void add_answer_columns(PageTable& table, const JudgedRow& judged);
void add_answer_cells(std::vector<std::string>& cells, const JudgedRow& judged, std::size_t n);

}  // namespace attest
