#include "attest/definitions/attention.hpp"

#include <numeric>

#include "attest/scalar/recorded.hpp"

namespace attest {

std::vector<std::size_t> all_indices(std::size_t n) {
  std::vector<std::size_t> indices(n);
  std::iota(indices.begin(), indices.end(), std::size_t(0));
  return indices;
}

namespace {

/// The positions, within a list of visible keys, of those that dropout keeps; all of them without dropout, and none
/// when its probability is 1.
template <Scalar T>
std::vector<std::size_t> kept_terms(const Head<T>& head, std::size_t i, const std::vector<std::size_t>& keys) {
  if (!head.kept) return all_indices(keys.size());
  std::vector<std::size_t> terms;
  for (std::size_t n = 0; n < keys.size(); ++n) {
    if ((*head.kept)(i, keys[n])) terms.push_back(n);
  }
  return terms;
}

}  // namespace

template <Scalar T>
AttendedRow<T> attend_logits(const Head<T>& head, std::size_t i, std::vector<std::size_t> keys, Vector<T> logits) {
  const Vector<T> row = head.sink ? append(row_of(logits), *head.sink) : logits;
  if (row.size() == 0) {
    return {std::move(keys), std::move(logits), Vector<T>::from_shape({0}), std::nullopt,
            tabulate(head.values.shape(1), [](std::size_t) { return T(0); })};
  }
  const Exponentials<T> e = exponentials(row_of(row));
  Vector<T> weights = tabulate(keys.size(), [&](std::size_t n) -> T { return e.terms(n) / e.total; });
  const Vector<T> mean = weighted_values(e, head.values, kept_terms(head, i, keys), keys);
  Vector<T> output = tabulate(mean.size(), [&](std::size_t c) -> T { return head.output_scale * mean(c); });
  std::optional<T> lse =
      head.sink && !head.sink_in_lse ? log_sum_exp(row_of(logits)) : std::optional<T>(T(e.shift + log(e.total)));
  if (lse) lse = lse_in_base(*lse, head.lse_base);
  return {std::move(keys), std::move(logits), std::move(weights), std::move(lse), std::move(output)};
}

template <Scalar T>
Attended<T> attention(const Problem& problem) {
  check(problem);
  Attended<T> result{extents(problem.inputs), {}};
  const std::vector<std::size_t> every = all_indices(result.extents.queries);
  for (std::size_t b = 0; b < result.extents.batch; ++b) {
    for (std::size_t h = 0; h < result.extents.q_heads; ++h) {
      const Head<T> head = head_of<T>(problem, b, h, every);
      for (const std::size_t i : every) result.rows.push_back(attend_row(head, i));
    }
  }
  return result;
}

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_ATTENTION, )
template AttendedRow<Recorded> attend_logits(const Head<Recorded>&, std::size_t, std::vector<std::size_t>,
                                             Vector<Recorded>);

}  // namespace attest
