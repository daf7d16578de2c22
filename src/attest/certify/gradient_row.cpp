#include "attest/certify/gradient_row.hpp"

#include <numbers>

namespace attest {

namespace {

double middle(const Enclosure& x) { return static_cast<double>(median(x)); }

template <class T>
bool is_kept(const Head<T>& head, std::size_t i, std::size_t j) {
  return !head.kept || (*head.kept)(i, j);
}

/// The place of the greatest weight. Which one is taken among close ones matters to no enclosure's truth.
std::size_t heaviest(const Vector<Enclosure>& weights) {
  std::size_t found = 0;
  for (std::size_t n = 1; n < weights.size(); ++n) {
    if (median(weights(found)) < median(weights(n))) found = n;
  }
  return found;
}

/// GRD.D5 at every visible key; 0 where dropout keeps none of its weight, and at the sink, which has no value.
Vector<Enclosure> weight_gradients(const Head<Enclosure>& head, std::size_t i, const std::vector<std::size_t>& keys,
                                   Row<Enclosure> g, std::size_t joined) {
  return tabulate(joined, [&](std::size_t n) -> Enclosure {
    const bool acts = n < keys.size() && is_kept(head, i, keys[n]);
    return acts ? weight_gradient(g, row_of(head.values, keys[n]), head.output_scale) : Enclosure(0);
  });
}

/// The weights by which the log-sum-exp depends on each logit, the sink's at the end where that counts.
Vector<Enclosure> lse_weights(const Head<Enclosure>& head, const Vector<Enclosure>& logits,
                              const Vector<Enclosure>& joined) {
  return head.sink && !head.sink_in_lse ? softmax(row_of(logits)) : joined;
}

}  // namespace

CentredRow centred_row_gradient(const Head<Enclosure>& head, std::size_t i, Row<Enclosure> g,
                                const std::optional<Enclosure>& g_lse) {
  const std::vector<std::size_t> keys = visible_keys(row_of(head.visible, i));
  const std::size_t m = keys.size();
  const Vector<Enclosure> logits =
      tabulate(m, [&](std::size_t n) -> Enclosure { return logit(head, i, keys[n], capped_score(head, i, keys[n])); });
  const Vector<Enclosure> joined = softmax(row_of(head.sink ? append(row_of(logits), *head.sink) : logits));
  Vector<Enclosure> through = joined;
  if (joined.size() > 0) {
    const Vector<Enclosure> of_weights = weight_gradients(head, i, keys, g, joined.size());
    through = centred_softmax_gradient(row_of(joined), row_of(of_weights), heaviest(joined));
  }
  if (g_lse) {
    const Vector<Enclosure> weights = lse_weights(head, logits, joined);
    for (std::size_t n = 0; n < weights.size(); ++n) {
      through(n) = through(n) + log_sum_exp_gradient(weights(n), *g_lse, head.lse_base);
    }
  }
  const Vector<Enclosure> none = Vector<Enclosure>::from_shape({m});
  RowGradient<Enclosure> row{keys, gather(row_of(joined), all_indices(m)), none, none, none, std::nullopt};
  for (std::size_t n = 0; n < m; ++n) {
    row.logits(n) = through(n);
    LogitGradient<Enclosure> of_logit = logit_gradient(head, i, keys[n], through(n));
    row.scores(n) = std::move(of_logit.score);
    row.bias(n) = std::move(of_logit.bias);
  }
  if (head.sink) row.sink = through(m);
  return {std::move(row), head.sink ? middle(joined(m)) : 0.0};
}

namespace {

/// |factor| sum_c |g_c v_c| at every visible kept key.
std::vector<double> weight_magnitudes(const Head<double>& head, std::size_t i, const std::vector<std::size_t>& keys,
                                      Row<double> g) {
  std::vector<double> magnitudes;
  for (const std::size_t j : keys) {
    const double products =
        sum_over<double>(g.size(), [&](std::size_t c) { return std::fabs(g[c] * head.values(j, c)); });
    magnitudes.push_back(is_kept(head, i, j) ? std::fabs(head.output_scale) * products : 0.0);
  }
  return magnitudes;
}

/// |g_lse|, over ln 2 in base 2, for each unit of a softmax weight; where the log-sum-exp leaves the sink out, its
/// weights are those of the keys alone.
double lse_magnitude(const Head<double>& head, const Vector<double>& weights, const std::optional<double>& g_lse) {
  const double natural = std::fabs(g_lse.value_or(0)) * (head.lse_base == LseBase::e ? 1.0 : std::numbers::log2e);
  const double keys = sum_over<double>(weights.size(), [&](std::size_t n) { return weights(n); });
  return head.sink && !head.sink_in_lse && keys > 0 ? natural / keys : natural;
}

/// 1 + tanh^2: the two terms of the softcap's derivative.
double softcap_magnitude(const Head<double>& head, std::size_t i, std::size_t j) {
  if (!head.softcap) return 1.0;
  const double y = capped_score(head, i, j) / *head.softcap;
  return 1 + y * y;
}

}  // namespace

RowGradient<double> gradient_magnitudes(const Head<double>& head, std::size_t i, const CentredRow& row, Row<double> g,
                                        const std::optional<double>& g_lse) {
  const std::vector<std::size_t>& keys = row.gradient.keys;
  const std::size_t m = keys.size();
  const std::vector<double> products = weight_magnitudes(head, i, keys, g);
  const Vector<double> weights = tabulate(m, [&](std::size_t n) { return middle(row.gradient.weights(n)); });
  const double mean = sum_over<double>(m, [&](std::size_t n) { return weights(n) * products[n]; });
  const double of_lse = lse_magnitude(head, weights, g_lse);
  const bool before = head.bias_position != BiasPosition::after_softcap;
  const double bias_scale = head.bias_position == BiasPosition::inside_scale ? std::fabs(head.bias_scale) : 1.0;
  RowGradient<double> magnitudes{keys, weights, weights, weights, weights, std::nullopt};
  for (std::size_t n = 0; n < m; ++n) {
    magnitudes.logits(n) = weights(n) * (products[n] + mean + of_lse);
    magnitudes.scores(n) = magnitudes.logits(n) * softcap_magnitude(head, i, keys[n]);
    magnitudes.bias(n) = bias_scale * (before ? magnitudes.scores(n) : magnitudes.logits(n));
  }
  if (head.sink) magnitudes.sink = row.sink_weight * (mean + (head.sink_in_lse ? of_lse : 0.0));
  return magnitudes;
}

Head<double> magnitudes_of(Head<double> head) {
  for (auto* operand : {&head.queries, &head.keys, &head.values}) {
    for (double& x : *operand) x = std::fabs(x);
  }
  for (double* factor : {&head.scale, &head.output_scale}) *factor = std::fabs(*factor);
  return head;
}

}  // namespace attest
