#pragma once
/// Visible sets as the examples of the specification write them.

#include <initializer_list>
#include <string_view>

#include "attest/definitions/mask.hpp"

namespace attest {

/// A call with one head; only its extents matter here.
inline Problem sized(const Call& call, std::size_t queries, std::size_t keys) {
  Problem problem{call, {}};
  problem.inputs.q = Tensor<double>::from_shape({1, 1, queries, 1});
  problem.inputs.k = problem.inputs.v = Tensor<double>::from_shape({1, 1, keys, 1});
  return problem;
}

/// Rows of visible keys, as the specification writes them.
inline Matrix<bool> visible_set(std::initializer_list<std::string_view> rows) {
  return tabulate(rows.size(), rows.begin()->size(),
                  [&](std::size_t i, std::size_t j) { return rows.begin()[i][j] == '1'; });
}

}  // namespace attest
