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

namespace {

/// How the states of what is reached only so far; marking a visible pair makes all that it leads to ordinary.
class Reached {
 public:
  Reached(const std::string& name, const Problem& problem)
      : name_(name), problem_(problem), n_(extents(problem.inputs)) {
    states_.assign(count(), name == "dq" || name == "dbias" ? RowState::padding : RowState::empty);
  }

  /// A pair, once for each b, h, i, j.
  void pair(std::size_t b, std::size_t h, std::size_t i, std::size_t j, bool padding, bool visible) {
    RowState& state = states_[place(b, h, i, j)];
    if (visible) state = RowState::ordinary;
    if (!padding && state == RowState::padding) state = RowState::empty;
  }

  /// A key of a packed sequence that is shorter than the longest.
  void absent_key(std::size_t b, std::size_t h, std::size_t j) {
    if (name_ == "dk" || name_ == "dv") states_[place(b, h, 0, j)] = RowState::padding;
  }

  std::vector<RowState> states() && { return std::move(states_); }

 private:
  std::size_t count() const {
    if (name_ == "dq") return n_.batch * n_.q_heads * n_.queries;
    if (name_ == "dsink") return n_.q_heads;
    if (name_ == "dbias") return problem_.inputs.bias->size();
    return n_.batch * (name_ == "dk" ? n_.k_heads : n_.v_heads) * n_.keys;
  }

  std::size_t place(std::size_t b, std::size_t h, std::size_t i, std::size_t j) const {
    if (name_ == "dq") return (b * n_.q_heads + h) * n_.queries + i;
    if (name_ == "dsink") return h;
    if (name_ == "dbias") {
      const Tensor<double>& t = *problem_.inputs.bias;
      const auto along = [&](std::size_t axis, std::size_t index) { return t.shape(axis) == 1 ? 0 : index; };
      return ((along(0, b) * t.shape(1) + along(1, h)) * t.shape(2) + along(2, i)) * t.shape(3) + along(3, j);
    }
    const std::size_t heads = name_ == "dk" ? n_.k_heads : n_.v_heads;
    return (b * heads + key_head(h, n_.q_heads, heads, problem_.call.head_map)) * n_.keys + j;
  }

  const std::string& name_;
  const Problem& problem_;
  const Extents n_;
  std::vector<RowState> states_;
};

bool beyond(const std::optional<Vector<std::int64_t>>& lengths, std::size_t b, std::size_t s) {
  return lengths && static_cast<std::int64_t>(s) >= (*lengths)(b);
}

}  // namespace

std::vector<RowState> gradient_states(const std::string& name, const Problem& problem) {
  const Inputs& in = problem.inputs;
  const Extents n = extents(in);
  const bool packed = problem.call.layout == Layout::thd;
  Reached reached(name, problem);
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.q_heads; ++h) {
      const bool sinks = name == "dsink" && std::isfinite((*in.sink)(h));
      for (std::size_t i = 0; i < n.queries; ++i) {
        const bool padding = beyond(in.q_lengths, b, i);
        if (name == "dq" || sinks) reached.pair(b, h, i, 0, padding, sinks);  // rows and sinks are there without keys
        for (std::size_t j = 0; j < n.keys; ++j) reached.pair(b, h, i, j, padding, is_visible(problem, b, h, i, j));
      }
      for (std::size_t j = 0; packed && j < n.keys; ++j) {
        if (beyond(in.k_lengths, b, j)) reached.absent_key(b, h, j);
      }
    }
  }
  return std::move(reached).states();
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
