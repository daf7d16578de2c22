#include "attest/definitions/layer.hpp"

namespace attest {

namespace {

/// Rows of a batch entry.
template <Scalar T>
Matrix<T> lift_rows(const Tensor<double>& tensor, std::size_t b, const std::vector<std::size_t>& rows) {
  return tabulate(rows.size(), tensor.shape(2),
                  [&](std::size_t i, std::size_t c) -> T { return lift<T>(tensor(b, rows[i], c)); });
}

}  // namespace

template <Scalar T>
std::vector<Head<T>> layer_heads(const LayerProblem& problem, const Problem& inner, std::size_t b,
                                 const std::vector<std::size_t>& rows) {
  const LayerConfig& n = problem.config;
  const LayerState<double>& state = problem.state;
  const auto keys_of = [&](const Tensor<double>& x, const Matrix<double>& weight, const auto& bias, const auto& row) {
    return projected_keys(lift_entry<T>(x, b), lift_matrix<T>(weight), lift_slot<T>(bias), lift_slot<T>(row),
                          problem.zero_attention);
  };
  const auto queries = split_heads(
      affine(lift_rows<T>(problem.query, b, rows), lift_matrix<T>(state.query_weight), lift_slot<T>(state.query_bias)),
      n.q_heads);
  const auto keys = split_heads(keys_of(problem.key, state.key_weight, state.key_bias, problem.key_row), n.k_heads);
  const auto values =
      split_heads(keys_of(problem.value, state.value_weight, state.value_bias, problem.value_row), n.v_heads);
  std::vector<Head<T>> heads;
  for (std::size_t h = 0; h < n.q_heads; ++h) {
    heads.push_back(head_of<T>(inner, b, h, rows));
    heads.back().queries = queries[h];
    heads.back().keys = keys[key_head(h, n.q_heads, n.k_heads, inner.call.head_map)];
    heads.back().values = values[key_head(h, n.q_heads, n.v_heads, inner.call.head_map)];
  }
  return heads;
}

template <Scalar T>
std::vector<LayerRow<T>> layer(const LayerProblem& problem) {
  check(problem);
  const Problem inner = inner_problem(problem);
  const std::vector<std::size_t> rows = all_indices(problem.query.shape(1));
  const Matrix<T> weight = lift_matrix<T>(problem.state.output_weight);
  const std::optional<Vector<T>> bias = lift_slot<T>(problem.state.output_bias);
  std::vector<LayerRow<T>> result;
  for (std::size_t b = 0; b < problem.query.shape(0); ++b) {
    const std::vector<Head<T>> heads = layer_heads<T>(problem, inner, b, rows);
    for (const std::size_t i : rows) result.push_back(layer_row(heads, i, weight, bias));
  }
  return result;
}

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_LAYER, )

}  // namespace attest
