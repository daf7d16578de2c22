#pragma once
/// A row of scores with its visible set, for the properties of softmax.

#include <iosfwd>
#include <memory>
#include <ostream>

#include "attest/certify/bounds.hpp"
#include "support/generators.hpp"

namespace attest {

/// The numbers in the arithmetic T.
template <Scalar T>
Vector<T> lifted(const std::vector<double>& numbers) {
  return tabulate(numbers.size(), [&](std::size_t j) { return lift<T>(numbers[j]); });
}

struct MaskedRow {
  std::vector<double> scores;
  std::vector<char> visible;

  template <Scalar T>
  Vector<T> scores_in() const {
    return lifted<T>(scores);
  }
  Row<bool> visible_row() const { return Row<bool>(reinterpret_cast<const bool*>(visible.data()), visible.size()); }
  std::vector<std::size_t> keys() const { return visible_keys(visible_row()); }
};

inline std::ostream& operator<<(std::ostream& out, const MaskedRow& row) {
  for (std::size_t j = 0; j < row.scores.size(); ++j) out << (row.visible[j] ? " " : " hidden:") << row.scores[j];
  return out;
}

/// Rows of 1 to 8 keys, often empty or with a single visible key.
inline rc::Gen<MaskedRow> masked_rows() {
  return rc::gen::exec([] {
    const std::size_t m = *between<std::size_t>(1, 9);
    const std::vector<bool> visible = *visible_rows(m);
    return MaskedRow{*rows(m), {visible.begin(), visible.end()}};
  });
}

}  // namespace attest
