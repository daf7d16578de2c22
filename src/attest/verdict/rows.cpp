#include "attest/verdict/rows.hpp"

#include "attest/definitions/heads.hpp"
#include "attest/definitions/mask.hpp"

namespace attest {

namespace {

bool sees_a_key(const Problem& problem, std::size_t b, std::size_t h, std::size_t i, std::size_t keys) {
  for (std::size_t j = 0; j < keys; ++j) {
    if (is_visible(problem, b, h, i, j)) return true;
  }
  return false;
}

RowState state_of(const Problem& problem, const Extents& n, std::size_t b, std::size_t h, std::size_t i) {
  const Inputs& in = problem.inputs;
  if (in.q_lengths && static_cast<std::int64_t>(i) >= (*in.q_lengths)(b)) return RowState::padding;
  if (in.sink && std::isfinite((*in.sink)(h))) return RowState::ordinary;
  return sees_a_key(problem, b, h, i, n.keys) ? RowState::ordinary : RowState::empty;
}

/// The rows first .. first+count-1 of one head, as a (1, 1, count, channel) tensor.
Tensor<double> slice(const Tensor<double>& t, std::size_t b, std::size_t h, std::size_t first, std::size_t count) {
  Tensor<double> part = Tensor<double>::from_shape({1, 1, count, t.shape(3)});
  for (std::size_t s = 0; s < count; ++s) {
    for (std::size_t c = 0; c < t.shape(3); ++c) part(0, 0, s, c) = t(b, h, first + s, c);
  }
  return part;
}

/// A (1, 1, 1, Sk) tensor from its formula.
template <class T, class F>
Tensor<T> key_row(std::size_t keys, F&& f) {
  Tensor<T> row = Tensor<T>::from_shape({1, 1, 1, keys});
  for (std::size_t j = 0; j < keys; ++j) row(0, 0, 0, j) = f(j);
  return row;
}

/// A factor that is given for each batch entry and group of heads, for one of them.
std::optional<Matrix<double>> pick(const std::optional<Matrix<double>>& factors, std::size_t b, std::size_t h,
                                   std::size_t heads) {
  if (!factors) return std::nullopt;
  return Matrix<double>({1, 1}, (*factors)(factors->shape(0) == 1 ? 0 : b, h * factors->shape(1) / heads));
}

}  // namespace

std::vector<RowState> row_states(const Problem& problem) {
  const Extents n = extents(problem.inputs);
  std::vector<RowState> states;
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.q_heads; ++h) {
      for (std::size_t i = 0; i < n.queries; ++i) states.push_back(state_of(problem, n, b, h, i));
    }
  }
  return states;
}

Problem single_row(const Problem& problem, std::size_t b, std::size_t h, std::size_t i) {
  const Inputs& in = problem.inputs;
  const Extents n = extents(in);
  const std::size_t k_head = key_head(h, n.q_heads, n.k_heads, problem.call.head_map);
  const std::size_t v_head = key_head(h, n.q_heads, n.v_heads, problem.call.head_map);
  Problem row{problem.call, {}};
  row.call.layout = Layout::bhsd;
  row.call.causal = false;
  row.call.window_left = row.call.window_right = std::nullopt;
  row.call.alignment = Alignment::offsets;
  row.call.mask_polarity = MaskPolarity::true_is_visible;
  row.call.padding_polarity = MaskPolarity::true_is_visible;
  row.call.mask_axes = MaskAxes::numpy;
  Inputs& to = row.inputs;
  to.q = slice(in.q, b, h, i, 1);
  to.k = slice(in.k, b, k_head, 0, n.keys);
  to.v = slice(in.v, b, v_head, 0, n.keys);
  to.offsets = Vector<std::int64_t>({1}, static_cast<std::int64_t>(i) + offset_of(problem, b));
  to.visible = key_row<bool>(n.keys, [&](std::size_t j) { return is_visible(problem, b, h, i, j); });
  if (in.bias) to.bias = key_row<double>(n.keys, [&](std::size_t j) { return broadcast_at(*in.bias, b, h, i, j); });
  if (in.kept) to.kept = key_row<bool>(n.keys, [&](std::size_t j) { return broadcast_at(*in.kept, b, h, i, j); });
  if (in.sink) to.sink = Vector<double>({1}, (*in.sink)(h));
  to.alibi_slopes = pick(in.alibi_slopes, b, h, n.q_heads);
  to.descale_q = pick(in.descale_q, b, h, n.q_heads);
  to.descale_k = pick(in.descale_k, b, k_head, n.k_heads);
  to.descale_v = pick(in.descale_v, b, v_head, n.v_heads);
  return row;
}

}  // namespace attest
