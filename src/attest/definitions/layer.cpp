#include "attest/definitions/layer.hpp"

#include <algorithm>
#include <cmath>

#include "attest/definitions/mask.hpp"

namespace attest {

namespace {

bool finite(const auto& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
}

void check_input(const Tensor<double>& input, std::size_t batch, std::size_t sequence, std::size_t width,
                 std::string_view name) {
  const Shape due{batch, sequence, width};
  const Shape got(input.shape().begin(), input.shape().end());
  require(got == due, "MHA.C4", "{}: shape {}, got {}", name, to_string(due), to_string(got));
  require(finite(input), "MHA.C6", "{}: finite numbers", name);
}

void check_slot(const auto& slot, const Shape& due, std::string_view name) {
  const Shape got(slot.shape().begin(), slot.shape().end());
  require(got == due, "OPT.C1", "{}: shape {}, got {}", name, to_string(due), to_string(got));
  require(finite(slot), "MHA.C6", "{}: finite numbers", name);
}

void check_optional(bool enabled, const std::optional<Vector<double>>& slot, std::size_t width, std::string_view name) {
  require(slot.has_value() == enabled, "OPT.C2", "{}: {} in this configuration", name, enabled ? "a slot" : "no slot");
  if (slot) check_slot(*slot, {width}, name);
}

void check_state(const LayerConfig& n, const LayerState<double>& state) {
  check_slot(state.query_weight, {n.query_input, n.q_heads * n.head_width}, "queryWeight");
  check_slot(state.key_weight, {n.key_input, n.k_heads * n.head_width}, "keyWeight");
  check_slot(state.value_weight, {n.value_input, n.v_heads * n.value_width}, "valueWeight");
  check_slot(state.output_weight, {n.q_heads * n.value_width, n.output_width}, "outputWeight");
  check_optional(n.input_bias, state.query_bias, n.q_heads * n.head_width, "queryBias");
  check_optional(n.input_bias, state.key_bias, n.k_heads * n.head_width, "keyBias");
  check_optional(n.input_bias, state.value_bias, n.v_heads * n.value_width, "valueBias");
  check_optional(n.output_bias, state.output_bias, n.output_width, "outputBias");
  require(state.probability.has_value() == n.dropout, "OPT.C2", "probability: {} in this configuration",
          n.dropout ? "a slot" : "no slot");
}

void check_rows(const LayerProblem& problem) {
  const LayerConfig& n = problem.config;
  require(problem.key_row.has_value() == problem.value_row.has_value(), "MHA.C5", "keyRow and valueRow come together");
  check_optional(problem.key_row.has_value(), problem.key_row, n.k_heads * n.head_width, "keyRow");
  check_optional(problem.value_row.has_value(), problem.value_row, n.v_heads * n.value_width, "valueRow");
  require(added_keys(problem) == 0 || !problem.masks.alibi_slopes, "MHA.C7",
          "alibi_slopes: added keys have no position to measure a distance from");
  const Inputs& in = problem.masks;
  require(!in.descale_q && !in.descale_k && !in.descale_v, "MHA.C7", "descale factors: a layer projects its operands");
}

/// Without heads, channels or widths there would be nothing to project or to merge.
void check_config(const LayerConfig& n) {
  for (const std::size_t extent :
       {n.head_width, n.value_width, n.query_input, n.key_input, n.value_input, n.output_width}) {
    require(extent > 0, "OPT.C4", "extents of a layer are at least 1, got 0");
  }
  for (const std::size_t heads : {n.k_heads, n.v_heads}) {
    require(n.q_heads > 0 && heads > 0 && n.q_heads % heads == 0, "OPT.C4",
            "heads: at least 1 and a divisor of the {} query heads, got {}", n.q_heads, heads);
  }
}

/// A mask or bias with columns of its own for added keys: `entry` where a key is a projected one, `added` elsewhere.
template <class T, class F>
Tensor<T> extended(const Extents& n, std::size_t keys, const T& added, F&& entry) {
  Tensor<T> result = Tensor<T>::from_shape({n.batch, n.q_heads, n.queries, keys});
  for (std::size_t e = 0; e < result.size(); ++e) {
    const std::size_t j = e % keys, i = e / keys % n.queries, h = e / keys / n.queries % n.q_heads;
    result.data()[e] = j < n.keys ? T(entry(e / keys / n.queries / n.q_heads, h, i, j)) : added;
  }
  return result;
}

/// The masks of the projected keys, folded into one boolean tensor that has the added keys too. The kept mask has them
/// already: dropout does not spare them.
Problem with_added_keys(const Problem& projected, std::size_t added) {
  const Inputs& in = projected.inputs;
  const Extents n = extents(in);
  const std::size_t keys = n.keys + added;
  Problem all{projected.call, {}};
  all.call.causal = false;
  all.call.window_left = all.call.window_right = std::nullopt;
  all.inputs.q = in.q;
  all.inputs.k = Tensor<double>(Shape{n.batch, n.k_heads, keys, n.width}, 0.0);
  all.inputs.v = Tensor<double>(Shape{n.batch, n.v_heads, keys, n.value_width}, 0.0);
  all.inputs.sink = in.sink;
  all.inputs.offsets = in.offsets;
  all.inputs.q_lengths = in.q_lengths;
  all.inputs.visible = extended<bool>(n, keys, true, [&](std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
    return is_visible(projected, b, h, i, j);
  });
  if (in.bias) {
    all.inputs.bias = extended<double>(n, keys, 0.0, [&](std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
      return broadcast_at(*in.bias, b, h, i, j);
    });
  }
  return all;
}

Tensor<double> zeros(std::size_t batch, std::size_t heads, std::size_t sequence, std::size_t width) {
  return Tensor<double>(Shape{batch, heads, sequence, width}, 0.0);
}

/// Rows of a batch entry.
template <Scalar T>
Matrix<T> lift_rows(const Tensor<double>& tensor, std::size_t b, const std::vector<std::size_t>& rows) {
  return tabulate(rows.size(), tensor.shape(2),
                  [&](std::size_t i, std::size_t c) -> T { return lift<T>(tensor(b, rows[i], c)); });
}

}  // namespace

std::size_t added_keys(const LayerProblem& problem) {
  return std::size_t(problem.key_row.has_value()) + std::size_t(problem.zero_attention);
}

Problem inner_problem(const LayerProblem& problem) {
  const LayerConfig& n = problem.config;
  const std::size_t batch = problem.query.shape(0), keys = problem.key.shape(1);
  Problem inner{problem.call, problem.masks};
  inner.inputs.q = zeros(batch, n.q_heads, problem.query.shape(1), n.head_width);
  inner.inputs.k = zeros(batch, n.k_heads, keys, n.head_width);
  inner.inputs.v = zeros(batch, n.v_heads, keys, n.value_width);
  inner.inputs.kept = std::nullopt;
  check(inner);
  if (added_keys(problem) > 0) inner = with_added_keys(inner, added_keys(problem));
  if (problem.training) inner.call.dropout = problem.state.probability;
  inner.inputs.kept = problem.masks.kept;
  check(inner);
  return inner;
}

void check(const LayerProblem& problem) {
  const LayerConfig& n = problem.config;
  require(problem.query.dimension() == 3 && problem.key.dimension() == 3, "MHA.C4",
          "query, key and value have three axes, got {}", problem.query.dimension());
  const std::size_t batch = problem.query.shape(0), keys = problem.key.shape(1);
  check_config(n);
  check_input(problem.query, batch, problem.query.shape(1), n.query_input, "query");
  check_input(problem.key, batch, keys, n.key_input, "key");
  check_input(problem.value, batch, keys, n.value_input, "value");
  check_state(n, problem.state);
  check_rows(problem);
  require(!problem.call.dropout, "MHA.C7", "dropout: that of a layer is the slot probability of its state");
  inner_problem(problem);
}

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
