#pragma once
/// Chapter 05 (ATT): what infinities and NaN among the visible inputs result in. The rules are those of the
/// extended reals, where 0 * inf, inf - inf, 0/0 and inf/inf are NaN; chapter 05 says where they choose. They are
/// resolved before any arithmetic, so enclosures see finite numbers only. Hidden inputs take no part whatever they are.

#include "attest/definitions/heads.hpp"

namespace attest {

/// A value of the extended reals up to what the rules need to know of it.
enum class Kind { finite, plus_infinity, minus_infinity, nan };

Kind kind_of(double x);

/// ATT.D10  kind_of_score(q, k, sign) = the kind of scale * sum_c q_c k_c in the extended reals; sign is the scale's.
Kind kind_of_score(Row<double> query, Row<double> key, int scale_sign);

/// What the rule table makes of one row.
struct Resolution {
  std::vector<std::size_t> keys;                ///< the visible keys whose logit is finite: they enter the sums
  std::vector<Kind> kinds;                      ///< of their scaled scores; an infinite one is finite once softcapped
  std::optional<double> row;                    ///< NaN, when it replaces every visible weight and every output channel
  std::optional<double> lse;                    ///< what replaces the log-sum-exp
  std::vector<std::optional<double>> channels;  ///< what replaces an output channel
};

/// ATT.D11  resolve(i): the rule table of chapter 05 applied to row i. `given` holds the inputs as they are; the signs
/// are those of the scale of a score and of an output.
Resolution resolve(const Head<double>& given, std::size_t i, int scale_sign, int output_sign);

/// Whether every element of q, k and v is finite, so that no rule applies.
bool all_finite(const Inputs& inputs);

/// The same problem with every non-finite element of q, k and v replaced by 0, for use together with `resolve`.
Problem finite_part(const Problem& problem);

}  // namespace attest
