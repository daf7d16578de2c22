#include "attest/definitions/layer_problem.hpp"

#include <algorithm>
#include <cmath>

#include "attest/definitions/dropout.hpp"
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

/// Every number of a state is finite; which slots it has is for check(config, state) to say.
void check_numbers(const LayerConfig& config, const LayerState<double>& state) {
  const auto slots = configured_slots(config);
  const auto given = members(state);
  for (std::size_t n = 0; n < slots.size(); ++n) {
    require(!given[n] || finite(*given[n]), "MHA.C6", "{}: finite numbers", slots[n].slot.name);
  }
}

void check_row(const std::optional<Vector<double>>& row, std::size_t width, const std::string& name) {
  if (!row) return;
  require_fits(StateSlot{name, {width}}, *row);
  require(finite(*row), "MHA.C6", "{}: finite numbers", name);
}

void check_rows(const LayerProblem& problem) {
  const LayerConfig& n = problem.config;
  require(problem.key_row.has_value() == problem.value_row.has_value(), "MHA.C5", "keyRow and valueRow come together");
  check_row(problem.key_row, n.k_heads * n.head_width, "keyRow");
  check_row(problem.value_row, n.v_heads * n.value_width, "valueRow");
  require(added_keys(problem) == 0 || !problem.masks.alibi_slopes, "MHA.C7",
          "alibi_slopes: added keys have no position to measure a distance from");
  const Inputs& in = problem.masks;
  require(!in.descale_q && !in.descale_k && !in.descale_v, "MHA.C7", "descale factors: a layer projects its operands");
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
  check(n);
  check_input(problem.query, batch, problem.query.shape(1), n.query_input, "query");
  check_input(problem.key, batch, keys, n.key_input, "key");
  check_input(problem.value, batch, keys, n.value_input, "value");
  check(n, problem.state);
  check_numbers(n, problem.state);
  if (n.dropout) require_probability(*problem.state.probability);
  check_rows(problem);
  require(!problem.call.dropout, "MHA.C7", "dropout: that of a layer is the slot probability of its state");
  inner_problem(problem);
}

Shape shape_of_output(const std::string& name, const LayerProblem& problem) {
  const std::size_t batch = problem.query.shape(0), queries = problem.query.shape(1);
  const std::size_t keys = problem.key.shape(1) + added_keys(problem);
  if (name == "out") return {batch, queries, problem.config.output_width};
  if (name == "mean_weights") return {batch, queries, keys};
  return {batch, problem.config.q_heads, queries, keys};
}

}  // namespace attest
