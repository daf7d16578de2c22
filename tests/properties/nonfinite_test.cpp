/// Chapter 05: the rule table for non-finite inputs, against IEEE arithmetic and against its own statement.

#include "attest/definitions/nonfinite.hpp"

#include <limits>

#include "attest/certify/certify.hpp"
#include "support/property.hpp"

namespace attest {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

/// A call whose q, k, v hold a few infinities and NaN.
Problem disturbed() {
  Problem problem = *calls({.bias = false, .dropout = false});
  for (Tensor<double>* tensor : {&problem.inputs.q, &problem.inputs.k, &problem.inputs.v}) {
    for (double& x : *tensor) {
      if (*between(0, 8) == 0) x = *rc::gen::element(inf, -inf, std::nan(""));
    }
  }
  return problem;
}

/// The table of chapter 05, said once more from IEEE arithmetic: small finite numbers neither overflow nor round to 0,
/// so doubles tell the kind of a score, and of a value sum with the finite weights replaced by 1.
struct Due {
  double lse_kind;               ///< NaN, an infinity, or 0 for a number
  std::vector<double> out_kind;  ///< the same for each channel
};

Due due(const Head<double>& head, std::size_t i) {
  Due result{0, std::vector<double>(head.values.shape(1), 0.0)};
  bool any_nan = false, any_plus = false, any_finite = head.sink.has_value();
  std::vector<double> weight;
  const auto keys = visible_keys(row_of(head.visible, i));
  for (const std::size_t j : keys) {
    const double s = capped_score(head, i, j);
    any_nan |= std::isnan(s);
    any_plus |= s == inf;
    any_finite |= std::isfinite(s);
    weight.push_back(s == -inf ? 0.0 : 1.0);
  }
  if (keys.empty()) return result;
  const bool no_total = !any_finite;
  if (any_nan || any_plus || no_total) {
    result.out_kind.assign(result.out_kind.size(), std::nan(""));
    result.lse_kind = any_nan ? std::nan("") : any_plus ? inf : -inf;
    return result;
  }
  for (std::size_t c = 0; c < result.out_kind.size(); ++c) {
    double sum = 0;
    for (std::size_t n = 0; n < keys.size(); ++n) sum += weight[n] * head.values(keys[n], c);
    result.out_kind[c] = std::isfinite(sum) ? 0.0 : sum * head.output_scale;
  }
  return result;
}

bool same_kind(double answer, double kind) {
  if (std::isnan(kind)) return std::isnan(answer);
  return std::isinf(kind) ? answer == kind : std::isfinite(answer);
}

PROPERTY(ATT_P16, non_finite_visible_inputs_follow_the_rule_table) {
  const Problem problem = disturbed();
  const Extents n = extents(problem.inputs);
  const auto certified = certify(problem, {{"out", Format::f64}, {"lse", Format::f64}, {"weights", Format::f64}});
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.q_heads; ++h) {
      const Head<double> head = head_of<double>(problem, b, h, all_indices(n.queries));
      for (std::size_t i = 0; i < n.queries; ++i) {
        const std::size_t row = (b * n.q_heads + h) * n.queries + i;
        const Due rule = due(head, i);
        const bool empty = visible_keys(row_of(head.visible, i)).empty();
        RC_CLASSIFY(!empty && std::isnan(rule.lse_kind), "NaN row");
        RC_CLASSIFY(rule.lse_kind == inf, "+infinity row");
        for (std::size_t c = 0; c < n.value_width; ++c) {
          RC_ASSERT(same_kind(certified.at("out").elements[row * n.value_width + c].lower, rule.out_kind[c]));
        }
        const double lse = certified.at("lse").elements[row].lower;
        if (!empty && (head.sink_in_lse || !head.sink)) RC_ASSERT(same_kind(lse, rule.lse_kind));
        for (std::size_t j = 0; j < n.keys; ++j) {
          const double w = certified.at("weights").elements[row * n.keys + j].lower;
          if (!head.visible(i, j)) {
            RC_ASSERT(w == 0);
          } else if (rule.lse_kind != 0) {
            RC_ASSERT(std::isnan(w));
          } else {
            RC_ASSERT(w == 0 || capped_score(head, i, j) != -inf);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace attest
