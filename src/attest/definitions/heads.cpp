#include "attest/definitions/heads.hpp"

#include <numeric>

#include "attest/definitions/mask.hpp"

namespace attest {

std::size_t key_head(std::size_t h, std::size_t q_heads, std::size_t k_heads, HeadMap map) {
  return map == HeadMap::grouped ? h / (q_heads / k_heads) : h % k_heads;
}

namespace {

/// Some query rows of one head of a call, and the key and value heads they read.
struct Place {
  const Problem& problem;
  Extents n;
  std::size_t b, h, k_head, v_head;
  const std::vector<std::size_t>& rows;
};

Place place_of(const Problem& problem, std::size_t b, std::size_t h, const std::vector<std::size_t>& rows) {
  const Extents n = extents(problem.inputs);
  const HeadMap map = problem.call.head_map;
  return {problem, n, b, h, key_head(h, n.q_heads, n.k_heads, map), key_head(h, n.q_heads, n.v_heads, map), rows};
}

/// Rows of one head of a (B, H, S, channel) tensor.
template <Scalar T>
Matrix<T> lift_rows(const Tensor<double>& tensor, std::size_t b, std::size_t h, const std::vector<std::size_t>& rows) {
  return tabulate(rows.size(), tensor.shape(3),
                  [&](std::size_t i, std::size_t c) -> T { return lift<T>(tensor(b, h, rows[i], c)); });
}

template <Scalar T>
void lift_operands(Head<T>& head, const Place& at) {
  const Inputs& in = at.problem.inputs;
  std::vector<std::size_t> keys(at.n.keys);
  std::iota(keys.begin(), keys.end(), std::size_t(0));
  head.queries = lift_rows<T>(in.q, at.b, at.h, at.rows);
  head.keys = lift_rows<T>(in.k, at.b, at.k_head, keys);
  head.values = lift_rows<T>(in.v, at.b, at.v_head, keys);
  head.visible = tabulate(at.rows.size(), at.n.keys, [&](std::size_t i, std::size_t j) {
    return is_visible(at.problem, at.b, at.h, at.rows[i], j);
  });
}

/// A descale factor given for each batch entry and group of heads, or for fewer; 1 where absent.
template <Scalar T>
T descale_of(const std::optional<Matrix<double>>& factors, std::size_t b, std::size_t h, std::size_t heads) {
  if (!factors) return T(1);
  const std::size_t group = h * factors->shape(1) / heads;
  return lift<T>((*factors)(factors->shape(0) == 1 ? 0 : b, group));
}

template <Scalar T>
void lift_factors(Head<T>& head, const Place& at) {
  const Inputs& in = at.problem.inputs;
  const Call& call = at.problem.call;
  head.bias_scale = scale_of<T>(call, at.n.width);
  head.scale = head.bias_scale * descale_of<T>(in.descale_q, at.b, at.h, at.n.q_heads) *
               descale_of<T>(in.descale_k, at.b, at.k_head, at.n.k_heads);
  head.output_scale = descale_of<T>(in.descale_v, at.b, at.v_head, at.n.v_heads);
  if (call.softcap) head.softcap = lift<T>(*call.softcap);
  if (in.sink && std::isfinite((*in.sink)(at.h))) head.sink = lift<T>((*in.sink)(at.h));
}

/// The sum of the additive biases of a call at (i, j).
template <Scalar T>
T bias_at(const Place& at, std::size_t i, std::size_t j) {
  const Inputs& in = at.problem.inputs;
  const T given = in.bias ? lift<T>(broadcast_at(*in.bias, at.b, at.h, i, j)) : T(0);
  if (!in.alibi_slopes) return given;
  const T slope = lift<T>((*in.alibi_slopes)(in.alibi_slopes->shape(0) == 1 ? 0 : at.b, at.h));
  const std::int64_t p = static_cast<std::int64_t>(i) + offset_of(at.problem, at.b);
  return given + alibi(slope, p, static_cast<std::int64_t>(j), at.problem.call.alibi_form);
}

/// A hidden key has no bias.
template <Scalar T>
void lift_bias(Head<T>& head, const Place& at) {
  if (!at.problem.inputs.bias && !at.problem.inputs.alibi_slopes) return;
  head.bias = tabulate(at.rows.size(), at.n.keys, [&](std::size_t i, std::size_t j) -> T {
    return head.visible(i, j) ? bias_at<T>(at, at.rows[i], j) : T(0);
  });
}

/// With probability 1 nothing is kept, whatever the mask says, and there is nothing to divide by.
template <Scalar T>
void lift_dropout(Head<T>& head, const Place& at) {
  const std::optional<double>& probability = at.problem.call.dropout;
  if (!probability) return;
  const bool everything = *probability == 1;
  head.kept = tabulate(at.rows.size(), at.n.keys, [&](std::size_t i, std::size_t j) {
    return !everything && broadcast_at(*at.problem.inputs.kept, at.b, at.h, at.rows[i], j);
  });
  if (everything) return;
  head.dropout = lift<T>(*probability);
  head.output_scale = head.output_scale / (T(1) - *head.dropout);
}

}  // namespace

template <Scalar T>
Head<T> head_of(const Problem& problem, std::size_t b, std::size_t h, const std::vector<std::size_t>& rows) {
  const Place at = place_of(problem, b, h, rows);
  Head<T> head;
  head.bias_position = problem.call.bias_position;
  head.sink_in_lse = problem.call.sink_in_lse;
  head.lse_base = problem.call.lse_base;
  lift_operands(head, at);
  lift_factors(head, at);
  lift_bias(head, at);
  lift_dropout(head, at);
  return head;
}

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_HEADS, )

}  // namespace attest
