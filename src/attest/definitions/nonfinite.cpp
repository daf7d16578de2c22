#include "attest/definitions/nonfinite.hpp"

#include <algorithm>
#include <limits>

#include "attest/definitions/mask.hpp"

namespace attest {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

int sign_of(double x) { return (x > 0) - (x < 0); }

/// The kind of a product, from one factor and the sign of the other (0, 1, -1), which is finite.
Kind times_sign(Kind kind, int sign) {
  if (kind == Kind::finite || kind == Kind::nan) return kind;
  if (sign == 0) return Kind::nan;
  return (kind == Kind::plus_infinity) == (sign > 0) ? Kind::plus_infinity : Kind::minus_infinity;
}

Kind product(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return Kind::nan;
  return std::isinf(a) ? times_sign(kind_of(a), sign_of(b)) : times_sign(kind_of(b), sign_of(a));
}

Kind sum(Kind a, Kind b) {
  if (a == Kind::finite) return b;
  return b == Kind::finite || a == b ? a : Kind::nan;
}

double value_of(Kind kind) {
  if (kind == Kind::nan) return nan;
  return kind == Kind::plus_infinity ? infinity : -infinity;
}

/// Whether a key's value is added up: visible, and kept if there is dropout.
bool is_kept(const Head<double>& head, std::size_t i, std::size_t j) { return !head.kept || (*head.kept)(i, j); }

/// The kind of sum_j w_j v_jc, where a finite logit has weight > 0 and a logit of -infinity has weight 0.
Kind kind_of_channel(const Head<double>& given, std::size_t i, std::size_t c, const std::vector<std::size_t>& positive,
                     const std::vector<std::size_t>& zero) {
  Kind kind = Kind::finite;
  for (const std::size_t j : positive) {
    if (is_kept(given, i, j)) kind = sum(kind, kind_of(given.values(j, c)));
  }
  for (const std::size_t j : zero) {
    if (is_kept(given, i, j) && !std::isfinite(given.values(j, c))) kind = Kind::nan;
  }
  return kind;
}

}  // namespace

Kind kind_of(double x) {
  if (std::isnan(x)) return Kind::nan;
  if (std::isinf(x)) return x > 0 ? Kind::plus_infinity : Kind::minus_infinity;
  return Kind::finite;
}

Kind kind_of_score(Row<double> query, Row<double> key, int scale_sign) {
  Kind kind = Kind::finite;
  for (std::size_t c = 0; c < query.size(); ++c) kind = sum(kind, product(query[c], key[c]));
  return times_sign(kind, scale_sign);
}

Resolution resolve(const Head<double>& given, std::size_t i, int scale_sign, int output_sign) {
  Resolution result;
  result.channels.resize(given.values.shape(1));
  std::vector<std::size_t> zero_weight;
  for (const std::size_t j : visible_keys(row_of(given.visible, i))) {
    const Kind kind = kind_of_score(row_of(given.queries, i), row_of(given.keys, j), scale_sign);
    const bool finite_logit = kind == Kind::finite || (given.softcap && kind != Kind::nan);
    if (finite_logit) {
      result.keys.push_back(j);
      result.kinds.push_back(kind);
    } else if (kind == Kind::minus_infinity) {
      zero_weight.push_back(j);
    } else {
      result.row = nan;
      result.lse = kind == Kind::nan || (result.lse && std::isnan(*result.lse)) ? nan : infinity;
    }
  }
  if (result.row) return result;
  if (result.keys.empty() && !zero_weight.empty() && !given.sink) {
    result.row = nan;
    result.lse = -infinity;
    return result;
  }
  if (result.keys.empty() && !zero_weight.empty() && !given.sink_in_lse) result.lse = -infinity;
  for (std::size_t c = 0; c < result.channels.size(); ++c) {
    const Kind kind = times_sign(kind_of_channel(given, i, c, result.keys, zero_weight), output_sign);
    if (kind != Kind::finite) result.channels[c] = value_of(kind);
  }
  return result;
}

bool all_finite(const Inputs& inputs) {
  const auto finite = [](const Tensor<double>& t) {
    return std::all_of(t.begin(), t.end(), [](double x) { return std::isfinite(x); });
  };
  return finite(inputs.q) && finite(inputs.k) && finite(inputs.v);
}

Problem finite_part(const Problem& problem) {
  Problem result = problem;
  for (Tensor<double>* tensor : {&result.inputs.q, &result.inputs.k, &result.inputs.v}) {
    std::replace_if(
        tensor->begin(), tensor->end(), [](double x) { return !std::isfinite(x); }, 0.0);
  }
  return result;
}

}  // namespace attest
