#include "attest/certify/bounds.hpp"

namespace attest {

namespace {

Enclosure upper(const Enclosure& x) { return Enclosure(upper_end(x)); }

Enclosure greatest(const std::vector<Enclosure>& values) {
  Enclosure best = upper(values.front());
  for (const Enclosure& x : values) {
    if (upper_end(best) < upper_end(x)) best = upper(x);
  }
  return best;
}

/// The absolute error of a product or quotient that underflows: u times the smallest normal number.
Enclosure underflow(const FloatModel& model) { return Enclosure(model.u) * Enclosure(model.smallest_normal); }

/// What a sum known within `error` is known within once it is rounded. A sum does not underflow.
Enclosure rounded_sum(const Enclosure& sum, const Enclosure& error, const FloatModel& model) {
  return error + Enclosure(model.u) * (absolute(sum) + error);
}

/// Roundings in a scale: a square root and a quotient, or else the lifting of a number.
constexpr std::size_t scale_roundings = 2;

/// scale q.k: d roundings in the dot product, one for each of two descale factors, one for the product with the scale.
Enclosure scaled_bound(const Head<Enclosure>& head, std::size_t i, std::size_t j, const FloatModel& model) {
  const std::size_t d = head.queries.shape(1);
  const Enclosure products =
      sum_over<Enclosure>(d, [&](std::size_t c) { return absolute(Enclosure(head.queries(i, c) * head.keys(j, c))); });
  const Enclosure g = gamma(d + scale_roundings + 3, model);
  const Enclosure lost = Enclosure(static_cast<double>(d)) * (Enclosure(1) + g) * underflow(model);
  return absolute(head.scale) * (g * products + lost) + underflow(model);
}

/// The error of the bias as it is added: none, or that of its product with the scale.
Enclosure bias_error(const Head<Enclosure>& head, const Enclosure& bias, const FloatModel& model) {
  if (head.bias_position != BiasPosition::inside_scale) return Enclosure(0);
  return gamma(scale_roundings + 1, model) * absolute(Enclosure(head.bias_scale * bias)) + underflow(model);
}

Enclosure biased_bound(const Head<Enclosure>& head, std::size_t i, std::size_t j, const Enclosure& result,
                       const Enclosure& error, const FloatModel& model) {
  return rounded_sum(result, error + bias_error(head, (*head.bias)(i, j), model), model);
}

/// cap tanh(s / cap) has slope at most 1 in s, so what is lost before tanh passes through; `grown` is for tanh and the
/// product, `lost` for their underflow.
Enclosure softcap_bound(const Enclosure& s, const Enclosure& error, const Enclosure& cap, const FloatModel& model) {
  const Enclosure one(1), u(model.u), tanh_error(model.tanh_error);
  const Enclosure before = error + u * (absolute(s) + error) + cap * underflow(model);
  const Enclosure grown = (one + tanh_error) * (one + u);
  const Enclosure lost = cap * tanh_error * Enclosure(model.smallest_normal) * (one + u) + underflow(model);
  return before * grown + absolute(softcap(s, cap)) * (grown - one) + lost;
}

}  // namespace

FloatModel float_model(Format format) {
  const double u = unit_roundoff(format);
  return {u, 2 * u, 2 * u, 4 * u, std::ldexp(1.0, parameters(format).min_exponent)};
}

Enclosure gamma(std::size_t n, const FloatModel& model) {
  const Enclosure nu = Enclosure(static_cast<double>(n)) * Enclosure(model.u);
  require(upper_end(nu) < 1, "BND.C1", "gamma(n) needs n u < 1, got n = {}", n);
  return nu / (Enclosure(1) - nu);
}

Enclosure dot_bound(Row<Enclosure> a, Row<Enclosure> b, const FloatModel& model) {
  const Enclosure products =
      sum_over<Enclosure>(a.size(), [&](std::size_t c) { return absolute(Enclosure(a[c] * b[c])); });
  const Enclosure g = gamma(a.size(), model);
  return g * products + Enclosure(static_cast<double>(a.size())) * (Enclosure(1) + g) * underflow(model);
}

Enclosure logit_bound(const Head<Enclosure>& head, std::size_t i, std::size_t j, const FloatModel& model) {
  Enclosure value = scaled_score(head, i, j);
  Enclosure error = scaled_bound(head, i, j, model);
  const bool late = head.bias_position == BiasPosition::after_softcap;
  if (head.bias && !late) {
    value = add_bias(head, i, j, value, head.bias_position);
    error = biased_bound(head, i, j, value, error, model);
  }
  if (head.softcap) {
    error = softcap_bound(value, error, *head.softcap, model);
    value = softcap(value, *head.softcap);
  }
  if (head.bias && late) {
    value = add_bias(head, i, j, value, head.bias_position);
    error = biased_bound(head, i, j, value, error, model);
  }
  return error;
}

RowErrors row_errors(const std::vector<Enclosure>& logits, const std::vector<Enclosure>& errors,
                     const FloatModel& model) {
  const Enclosure one(1);
  const Enclosure worst = greatest(errors);
  const Enclosure top = greatest(logits);
  std::vector<Enclosure> gaps;
  for (const Enclosure& s : logits) gaps.push_back(top - s);
  const Enclosure argument = worst + Enclosure(model.u) * (greatest(gaps) + Enclosure(2) * worst);
  const Enclosure rho = exp(argument) * (one + Enclosure(model.exp_error)) - one;
  const Enclosure lost = Enclosure(model.exp_error) * Enclosure(model.smallest_normal) * exp(worst);
  const Enclosure g = gamma(logits.size() - 1, model);
  const Enclosure all_lost = Enclosure(static_cast<double>(logits.size())) * lost;
  const Enclosure rho_total = (one + rho) * (one + g) - one + (one + g) * all_lost;
  require(upper_end(rho_total) < 1, "BND.C3", "the relative error of the sum of exponentials is below 1, got {}",
          static_cast<double>(upper_end(rho_total)));
  return {rho, rho_total, lost, worst};
}

Enclosure weight_bound(const Enclosure& weight, const RowErrors& errors, const FloatModel& model) {
  const Enclosure one(1);
  const Enclosure grown = (one + Enclosure(model.u)) / (one - errors.rho_total);
  return weight * ((one + errors.rho) * grown - one) + errors.lost * grown + underflow(model);
}

Enclosure lse_bound(const Enclosure& lse, std::size_t n, const RowErrors& errors, LseBase base,
                    const FloatModel& model) {
  const Enclosure one(1);
  const Enclosure moved = -log(Enclosure(one - errors.rho_total));
  const Enclosure logarithm = log(Enclosure(static_cast<double>(n))) + errors.logit + moved;
  const Enclosure sum = moved + Enclosure(model.log_error) * logarithm;
  if (base == LseBase::e) return rounded_sum(lse, sum, model);
  const Enclosure natural = rounded_sum(lse * log(Enclosure(2)), sum, model) / log(Enclosure(2));
  const Enclosure grown = (one + Enclosure(model.u)) / (one - Enclosure(model.log_error));
  return natural * grown + absolute(lse) * (grown - one) + underflow(model);
}

Enclosure output_bound(const Head<Enclosure>& head, const AttendedRow<Enclosure>& row, std::size_t channel,
                       const RowErrors& errors, const FloatModel& model) {
  const Enclosure one(1);
  const std::size_t n = row.keys.size();
  const auto magnitude = [&](std::size_t k) { return absolute(head.values(row.keys[k], channel)); };
  const Enclosure mean = sum_over<Enclosure>(n, [&](std::size_t k) { return row.weights(k) * magnitude(k); });
  const Enclosure total = sum_over<Enclosure>(n, magnitude);
  const Enclosure g = gamma(n, model);
  const Enclosure share = (one + errors.rho) * (one + g) - one;
  const Enclosure lost =
      (one + g) * (errors.lost * total + Enclosure(static_cast<double>(n)) * underflow(model) * exp(errors.logit));
  const Enclosure quotient = (share * mean + lost + errors.rho_total * mean) / (one - errors.rho_total);
  const Enclosure last = gamma(2, model);
  return absolute(head.output_scale) * ((quotient + underflow(model)) * (one + last) + last * mean) + underflow(model);
}

RowBounds row_bounds(const Head<Enclosure>& head, std::size_t i, const AttendedRow<Enclosure>& row,
                     const FloatModel& model) {
  require(!head.kept, "BND.C2", "the bounds of a row hold without dropout");
  std::vector<Enclosure> logits(row.logits.begin(), row.logits.end());
  std::vector<Enclosure> errors;
  for (const std::size_t j : row.keys) errors.push_back(logit_bound(head, i, j, model));
  if (head.sink) {
    logits.push_back(*head.sink);
    errors.push_back(Enclosure(0));
  }
  RowBounds bounds;
  bounds.output.assign(head.values.shape(1), Enclosure(0));
  if (logits.empty()) return bounds;
  const RowErrors shared = row_errors(logits, errors, model);
  for (const Enclosure& w : row.weights) bounds.weights.push_back(weight_bound(w, shared, model));
  if (row.lse) bounds.lse = lse_bound(*row.lse, logits.size(), shared, head.lse_base, model);
  for (std::size_t c = 0; c < bounds.output.size(); ++c) bounds.output[c] = output_bound(head, row, c, shared, model);
  return bounds;
}

}  // namespace attest
