#include "attest/certify/units.hpp"

#include <numbers>

namespace attest {

namespace {

double middle(const Enclosure& x) { return static_cast<double>(median(x)); }

/// |x| of what is finite; an element that a rule resolves has no share in a unit.
double finite_magnitude(double x) { return std::isfinite(x) ? std::fabs(x) : 0.0; }

/// |what the bias has added| to a score by this stage.
double added_bias(const Head<double>& given, std::size_t i, std::size_t j, ScoreStage stage) {
  const bool late = given.bias_position == BiasPosition::after_softcap;
  if (!given.bias || stage == ScoreStage::scaled || (stage == ScoreStage::capped && late)) return 0.0;
  const double bias = std::fabs((*given.bias)(i, j));
  return given.bias_position == BiasPosition::inside_scale ? std::fabs(given.bias_scale) * bias : bias;
}

}  // namespace

Magnitudes magnitudes_of(const AttendedRow<Enclosure>& row) {
  Magnitudes m;
  for (const Enclosure& w : row.weights) m.weights.push_back(middle(w));
  for (const Enclosure& s : row.logits) m.logits.push_back(std::fabs(middle(s)));
  return m;
}

double mean_logit(const Magnitudes& m) {
  return sum_over<double>(m.weights.size(),
                          [&](std::size_t k) { return m.weights[k] == 0 ? 0.0 : m.weights[k] * m.logits[k]; });
}

double output_unit(const Magnitudes& m, const std::vector<std::size_t>& keys, const Head<double>& given, std::size_t i,
                   std::size_t channel) {
  const double mean = sum_over<double>(keys.size(), [&](std::size_t k) {
    const bool kept = !given.kept || (*given.kept)(i, keys[k]);
    return kept ? m.weights[k] * finite_magnitude(given.values(keys[k], channel)) : 0.0;
  });
  return std::fabs(given.output_scale) * mean;
}

double lse_unit(const Magnitudes& m, LseBase base) {
  return (1 + mean_logit(m)) * (base == LseBase::e ? 1.0 : std::numbers::log2e);
}

double weight_unit(const Magnitudes& m, std::size_t k) {
  return m.weights[k] == 0 ? 0.0 : m.weights[k] * (1 + m.logits[k] + mean_logit(m));
}

double score_unit(const Head<double>& given, std::size_t i, std::size_t j, ScoreStage stage) {
  const double products = sum_over<double>(
      given.queries.shape(1), [&](std::size_t c) { return finite_magnitude(given.queries(i, c) * given.keys(j, c)); });
  return std::fabs(given.scale) * products + added_bias(given, i, j, stage);
}

}  // namespace attest
