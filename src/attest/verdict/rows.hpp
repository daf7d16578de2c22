#pragma once
/// What a verdict needs to know of the query rows of a call.

#include <string>
#include <vector>

#include "attest/definitions/problem.hpp"

namespace attest {

/// padding: the query lies beyond its length, its answer is nobody's business. empty: it sees no key and has no sink.
enum class RowState { ordinary, empty, padding };

/// The state of each row, numbered (b * Hq + h) * Sq + i.
std::vector<RowState> row_states(const Problem& problem);

/// The state of each row of a gradient, or of each element of dbias and dsink, in their order. empty: no visible pair
/// of query and key leads there, so that the gradient is 0. padding: of the queries beyond their length alone, or of
/// keys that layout THD does not have.
std::vector<RowState> gradient_states(const std::string& name, const Problem& problem);

/// One query row as a call of its own: q (1,1,1,D), all keys of its head, every mask folded into `visible`. Its answer
/// is that row's answer, bit for bit.
Problem single_row(const Problem& problem, std::size_t b, std::size_t h, std::size_t i);

}  // namespace attest
