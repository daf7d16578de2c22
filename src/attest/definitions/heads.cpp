#include "attest/definitions/heads.hpp"

#include <numeric>

#include "attest/definitions/mask.hpp"

namespace attest {

std::size_t key_head(std::size_t h, std::size_t q_heads, std::size_t k_heads, HeadMap map) {
  return map == HeadMap::grouped ? h / (q_heads / k_heads) : h % k_heads;
}

namespace {

/// Rows of one head of a (B, H, S, channel) tensor, lifted.
template <Scalar T>
Matrix<T> lift_rows(const Tensor<double>& tensor, std::size_t b, std::size_t h, const std::vector<std::size_t>& rows) {
  return tabulate(rows.size(), tensor.shape(3),
                  [&](std::size_t i, std::size_t c) -> T { return lift<T>(tensor(b, h, rows[i], c)); });
}

/// A descale factor given for each batch entry and group of heads, or for fewer; 1 where absent.
template <Scalar T>
T descale_of(const std::optional<Matrix<double>>& factors, std::size_t b, std::size_t h, std::size_t heads) {
  if (!factors) return T(1);
  const std::size_t group = h * factors->shape(1) / heads;
  return lift<T>((*factors)(factors->shape(0) == 1 ? 0 : b, group));
}

/// The sum of the additive biases of a call at (i, j); a hidden key has none.
template <Scalar T>
T bias_at(const Problem& problem, std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
  const Inputs& in = problem.inputs;
  const T given = in.bias ? lift<T>(broadcast_at(*in.bias, b, h, i, j)) : T(0);
  if (!in.alibi_slopes) return given;
  const T slope = lift<T>((*in.alibi_slopes)(in.alibi_slopes->shape(0) == 1 ? 0 : b, h));
  const std::int64_t p = static_cast<std::int64_t>(i) + offset_of(problem, b);
  return given + alibi(slope, p, static_cast<std::int64_t>(j), problem.call.alibi_form);
}

}  // namespace

template <Scalar T>
Head<T> head_of(const Problem& problem, std::size_t b, std::size_t h, const std::vector<std::size_t>& rows) {
  const Call& call = problem.call;
  const Inputs& in = problem.inputs;
  const Extents n = extents(in);
  const std::size_t k_head = key_head(h, n.q_heads, n.k_heads, call.head_map);
  const std::size_t v_head = key_head(h, n.q_heads, n.v_heads, call.head_map);
  std::vector<std::size_t> keys(n.keys);
  std::iota(keys.begin(), keys.end(), std::size_t(0));

  Head<T> head{
      .queries = lift_rows<T>(in.q, b, h, rows),
      .keys = lift_rows<T>(in.k, b, k_head, keys),
      .values = lift_rows<T>(in.v, b, v_head, keys),
      .visible = tabulate(rows.size(), n.keys,
                          [&](std::size_t i, std::size_t j) { return is_visible(problem, b, h, rows[i], j); }),
      .scale = scale_of<T>(call, n.width) * descale_of<T>(in.descale_q, b, h, n.q_heads) *
               descale_of<T>(in.descale_k, b, k_head, n.k_heads),
      .bias_scale = scale_of<T>(call, n.width),
      .output_scale = descale_of<T>(in.descale_v, b, v_head, n.v_heads),
      .softcap = call.softcap ? std::optional<T>(lift<T>(*call.softcap)) : std::nullopt,
      .bias = std::nullopt,
      .bias_position = call.bias_position,
      .sink = std::nullopt,
      .dropout = std::nullopt,
      .kept = std::nullopt,
      .sink_in_lse = call.sink_in_lse,
      .lse_base = call.lse_base,
  };
  if (in.bias || in.alibi_slopes) {
    head.bias = tabulate(rows.size(), n.keys, [&](std::size_t i, std::size_t j) -> T {
      return head.visible(i, j) ? bias_at<T>(problem, b, h, rows[i], j) : T(0);
    });
  }
  if (in.sink && std::isfinite((*in.sink)(h))) head.sink = lift<T>((*in.sink)(h));
  if (call.dropout) {
    const bool everything = *call.dropout == 1;
    head.kept = tabulate(rows.size(), n.keys, [&](std::size_t i, std::size_t j) {
      return !everything && broadcast_at(*in.kept, b, h, rows[i], j);
    });
    if (!everything) {
      head.dropout = lift<T>(*call.dropout);
      head.output_scale = head.output_scale / (T(1) - *head.dropout);
    }
  }
  return head;
}

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_HEADS, )

}  // namespace attest
