#include "attest/gradients/attention_gradient.hpp"

#include <algorithm>

namespace attest {

template <Scalar T>
LogitGradient<T> logit_gradient(const Head<T>& head, std::size_t i, std::size_t j, const T& g) {
  const T below = head.softcap ? softcap_gradient(softcap_argument(head, i, j), *head.softcap, g) : g;
  if (!head.bias) return {below, T(0)};
  switch (head.bias_position) {
    case BiasPosition::after_softcap: return {below, g};
    case BiasPosition::before_softcap: return {below, below};
    default: return {below, head.bias_scale * below};
  }
}

namespace {

template <class T>
bool is_kept(const Head<T>& head, std::size_t i, std::size_t j) {
  return !head.kept || (*head.kept)(i, j);
}

/// GRD.D5 at every visible key; a dropped weight has nothing to do with the output.
template <Scalar T>
Vector<T> weight_gradients(const Head<T>& head, std::size_t i, const std::vector<std::size_t>& keys, Row<T> g) {
  return tabulate(keys.size(), [&](std::size_t n) -> T {
    return is_kept(head, i, keys[n]) ? weight_gradient(g, row_of(head.values, keys[n]), head.output_scale) : T(0);
  });
}

/// GRD.D4 at every logit that the log-sum-exp counts: the sink is the last one, where it does. None without a
/// cotangent.
template <Scalar T>
Vector<T> lse_gradients(const Head<T>& head, const Vector<T>& logits, const Vector<T>& joined,
                        const std::optional<T>& g_lse) {
  if (!g_lse) return Vector<T>::from_shape({0});
  const Vector<T> weights = head.sink && !head.sink_in_lse ? softmax(row_of(logits)) : joined;
  return tabulate(weights.size(),
                  [&](std::size_t n) -> T { return log_sum_exp_gradient(weights(n), *g_lse, head.lse_base); });
}

/// What arrives at logit n through the weights and, if the log-sum-exp counts it, through that.
template <Scalar T>
T both_ways(const T& through_weights, const Vector<T>& through_lse, std::size_t n) {
  return n < through_lse.size() ? T(through_weights + through_lse(n)) : through_weights;
}

}  // namespace

template <Scalar T>
RowGradient<T> row_gradient(const Head<T>& head, std::size_t i, Row<T> g, const std::optional<T>& g_lse) {
  const std::vector<std::size_t> keys = visible_keys(row_of(head.visible, i));
  const std::size_t m = keys.size();
  const Vector<T> logits =
      tabulate(m, [&](std::size_t n) -> T { return logit(head, i, keys[n], capped_score(head, i, keys[n])); });
  const Vector<T> joined = softmax(row_of(head.sink ? append(row_of(logits), *head.sink) : logits));
  const Row<T> weights = row_of(joined).first(m);
  const Vector<T> of_weights = weight_gradients(head, i, keys, g);
  const Vector<T> of_softmax = softmax_gradient(weights, row_of(of_weights));
  const Vector<T> of_lse = lse_gradients(head, logits, joined, g_lse);
  RowGradient<T> row{keys, gather(weights, all_indices(m)), of_softmax, of_softmax, of_softmax, std::nullopt};
  for (std::size_t n = 0; n < m; ++n) {
    row.logits(n) = both_ways(of_softmax(n), of_lse, n);
    const LogitGradient<T> of_logit = logit_gradient(head, i, keys[n], row.logits(n));
    row.scores(n) = of_logit.score;
    row.bias(n) = of_logit.bias;
  }
  if (head.sink) row.sink = both_ways(sink_gradient(T(joined(m)), weights, row_of(of_weights)), of_lse, m);
  return row;
}

namespace {

/// A visible pair: query row i and the place n of the key among the visible keys of the row.
struct Pair {
  std::size_t i, n;
};

/// For each key the rows that see it, in order.
template <class T>
std::vector<std::vector<Pair>> rows_of_keys(const std::vector<RowGradient<T>>& rows, std::size_t keys) {
  std::vector<std::vector<Pair>> seen_by(keys);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t n = 0; n < rows[i].keys.size(); ++n) seen_by[rows[i].keys[n]].push_back({i, n});
  }
  return seen_by;
}

/// dq_i = scale * sum_j ds_ij k_j
template <Scalar T>
Matrix<T> query_gradients(const Head<T>& head, const std::vector<RowGradient<T>>& rows) {
  return tabulate(rows.size(), head.queries.shape(1), [&](std::size_t i, std::size_t c) -> T {
    const RowGradient<T>& row = rows[i];
    return head.scale *
           sum_over<T>(row.keys.size(), [&](std::size_t n) -> T { return row.scores(n) * head.keys(row.keys[n], c); });
  });
}

/// dk_j = scale * sum_i ds_ij q_i
template <Scalar T>
Matrix<T> key_gradients(const Head<T>& head, const std::vector<RowGradient<T>>& rows) {
  const std::vector<std::vector<Pair>> seen_by = rows_of_keys(rows, head.keys.shape(0));
  return tabulate(head.keys.shape(0), head.keys.shape(1), [&](std::size_t j, std::size_t c) -> T {
    return head.scale * sum_over<T>(seen_by[j].size(), [&](std::size_t p) -> T {
             const auto [i, n] = seen_by[j][p];
             return rows[i].scores(n) * head.queries(i, c);
           });
  });
}

/// dv_j = factor * sum_i w_ij g_i, over the rows that keep j.
template <Scalar T>
Matrix<T> value_gradients(const Head<T>& head, const std::vector<RowGradient<T>>& rows, const Matrix<T>& g) {
  std::vector<std::vector<Pair>> kept_by = rows_of_keys(rows, head.values.shape(0));
  for (std::size_t j = 0; j < kept_by.size(); ++j) {
    std::erase_if(kept_by[j], [&](const Pair& pair) { return !is_kept(head, pair.i, j); });
  }
  return tabulate(head.values.shape(0), head.values.shape(1), [&](std::size_t j, std::size_t c) -> T {
    return head.output_scale * sum_over<T>(kept_by[j].size(), [&](std::size_t p) -> T {
             const auto [i, n] = kept_by[j][p];
             return rows[i].weights(n) * g(i, c);
           });
  });
}

/// Of every row, scattered to its keys.
template <Scalar T>
Matrix<T> bias_gradients(const std::vector<RowGradient<T>>& rows, std::size_t keys) {
  Matrix<T> bias = tabulate(rows.size(), keys, [](std::size_t, std::size_t) { return T(0); });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t n = 0; n < rows[i].keys.size(); ++n) bias(i, rows[i].keys[n]) = rows[i].bias(n);
  }
  return bias;
}

}  // namespace

template <Scalar T>
HeadGradient<T> gradient_of_rows(const Head<T>& head, const std::vector<RowGradient<T>>& rows,
                                 const Matrix<T>& output_cotangents) {
  HeadGradient<T> result{query_gradients(head, rows), key_gradients(head, rows),
                         value_gradients(head, rows, output_cotangents), std::nullopt, std::nullopt};
  if (head.bias) result.bias = bias_gradients(rows, head.keys.shape(0));
  if (head.sink) result.sink = sum_over<T>(rows.size(), [&](std::size_t i) -> T { return *rows[i].sink; });
  return result;
}

template <Scalar T>
HeadGradient<T> head_gradient(const Head<T>& head, const Matrix<T>& output_cotangents,
                              const std::optional<Vector<T>>& lse_cotangents) {
  const std::size_t count = head.queries.shape(0);
  require(output_cotangents.shape(0) == count && output_cotangents.shape(1) == head.values.shape(1), "GRD.C1",
          "dout: shape ({}, {}), got ({}, {})", count, head.values.shape(1), output_cotangents.shape(0),
          output_cotangents.shape(1));
  require(!lse_cotangents || lse_cotangents->size() == count, "GRD.C1", "dlse: shape ({}), got ({})", count,
          lse_cotangents ? lse_cotangents->size() : 0);
  std::vector<RowGradient<T>> rows;
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<T> g_lse = lse_cotangents ? std::optional<T>((*lse_cotangents)(i)) : std::nullopt;
    rows.push_back(row_gradient(head, i, row_of(output_cotangents, i), g_lse));
  }
  return gradient_of_rows(head, rows, output_cotangents);
}

namespace {

void require_cotangents(const Tensor<double>& tensor, const Shape& due, std::string_view name) {
  const Shape got(tensor.shape().begin(), tensor.shape().end());
  require(got == due, "GRD.C1", "{}: shape {}, got {}", name, to_string(due), to_string(got));
}

template <Scalar T>
Tensor<T> zero_sums(const auto& shape) {
  Tensor<T> t = Tensor<T>::from_shape(Shape(shape.begin(), shape.end()));
  std::fill(t.begin(), t.end(), T(0));
  return t;
}

/// Adds a head's rows to those of one head of a (B, H, S, channel) tensor.
template <Scalar T>
void add_rows(Tensor<T>& sums, std::size_t b, std::size_t h, const Matrix<T>& rows) {
  for (std::size_t s = 0; s < rows.shape(0); ++s) {
    for (std::size_t c = 0; c < rows.shape(1); ++c) sums(b, h, s, c) = sums(b, h, s, c) + rows(s, c);
  }
}

template <Scalar T>
HeadGradient<T> head_of_call_gradient(const Problem& problem, std::size_t b, std::size_t h, const Tensor<double>& dout,
                                      const std::optional<Tensor<double>>& dlse) {
  const Extents n = extents(problem.inputs);
  const Matrix<T> g =
      tabulate(n.queries, n.value_width, [&](std::size_t i, std::size_t c) -> T { return lift<T>(dout(b, h, i, c)); });
  std::optional<Vector<T>> g_lse;
  if (dlse) g_lse = tabulate(n.queries, [&](std::size_t i) -> T { return lift<T>((*dlse)(b, h, i)); });
  return head_gradient(head_of<T>(problem, b, h, all_indices(n.queries)), g, g_lse);
}

}  // namespace

template <Scalar T>
CallGradient<T> attention_gradient(const Problem& problem, const Tensor<double>& dout,
                                   const std::optional<Tensor<double>>& dlse) {
  check(problem);
  const Inputs& in = problem.inputs;
  const Extents n = extents(in);
  require_cotangents(dout, {n.batch, n.q_heads, n.queries, n.value_width}, "dout");
  if (dlse) require_cotangents(*dlse, {n.batch, n.q_heads, n.queries}, "dlse");
  CallGradient<T> sums{zero_sums<T>(in.q.shape()), zero_sums<T>(in.k.shape()), zero_sums<T>(in.v.shape()), std::nullopt,
                       std::nullopt};
  if (in.bias) sums.bias = zero_sums<T>(in.bias->shape());
  if (in.sink) sums.sink = tabulate(n.q_heads, [](std::size_t) { return T(0); });
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.q_heads; ++h) {
      const HeadGradient<T> head = head_of_call_gradient<T>(problem, b, h, dout, dlse);
      add_rows(sums.q, b, h, head.queries);
      add_rows(sums.k, b, key_head(h, n.q_heads, n.k_heads, problem.call.head_map), head.keys);
      add_rows(sums.v, b, key_head(h, n.q_heads, n.v_heads, problem.call.head_map), head.values);
      if (sums.bias) add_broadcast(*sums.bias, b, h, *head.bias, n.keys);
      if (head.sink) (*sums.sink)(h) = (*sums.sink)(h) + *head.sink;
    }
  }
  return sums;
}

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_ATTENTION_GRADIENT, )

}  // namespace attest
