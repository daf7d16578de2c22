#pragma once
/// Chapter 18 (BND): how far the definitions, evaluated in a machine's arithmetic, can be from their real values. Every
/// bound is evaluated in enclosures and its upper end is the tolerance; none is tuned. Derivations are in chapter 18.

#include "attest/definitions/attention.hpp"

namespace attest {

/// What the bounds assume of an arithmetic: operations correctly rounded with unit roundoff u, and elementary functions
/// with the relative errors stated. No operation overflows. Below `smallest_normal` errors are absolute.
struct FloatModel {
  double u;
  double exp_error;
  double log_error;
  double tanh_error;
  double smallest_normal;
};

/// IEEE arithmetic of the format. The elementary functions are those of glibc on x86_64, whose manual ("Known Maximum
/// Errors in Math Functions") states 1 ulp for exp and log and 2 ulp for tanh; an ulp is at most 2u relative. An
/// assumption.
FloatModel float_model(Format format);

/// BND.B1  gamma(n) = n u / (1 - n u): n roundings in a row change a number by this much at most, relatively; n u < 1.
Enclosure gamma(std::size_t n, const FloatModel& model);

/// BND.B2  dot_bound(a, b) = gamma(n) sum |a_c b_c| + n (1 + gamma(n)) u lambda: a dot product added in any order.
Enclosure dot_bound(Row<Enclosure> a, Row<Enclosure> b, const FloatModel& model);

/// BND.B5  logit_bound(i, j): the error of the logit that the definition computes from exactly represented operands.
Enclosure logit_bound(const Head<Enclosure>& head, std::size_t i, std::size_t j, const FloatModel& model);

/// The errors that a row's outputs share: rho of an exponential, rho_total of their sum, both relative; `lost`, the
/// greatest absolute error of an exponential over the sum, from underflow; `logit`, of the worst logit.
struct RowErrors {
  Enclosure rho;
  Enclosure rho_total;
  Enclosure lost;
  Enclosure logit;
};

/// BND.B3  row_errors(row): for softmax over n scores (a sink counts) whose logits carry the errors given.
RowErrors row_errors(const std::vector<Enclosure>& logits, const std::vector<Enclosure>& errors,
                     const FloatModel& model);

/// BND.B3  weight_bound: w ((1 + rho)(1 + u)/(1 - rho_total) - 1) + lost (1 + u)/(1 - rho_total) + u lambda
Enclosure weight_bound(const Enclosure& weight, const RowErrors& errors, const FloatModel& model);

/// BND.B3  lse_bound: the shift plus the logarithm of the sum, in the base given.
Enclosure lse_bound(const Enclosure& lse, std::size_t n, const RowErrors& errors, LseBase base,
                    const FloatModel& model);

/// BND.B4  output_bound(c): the quotient (sum e_k v_kc) / (sum e_k), in terms of A = sum w_k |v_kc|.
Enclosure output_bound(const Head<Enclosure>& head, const AttendedRow<Enclosure>& row, std::size_t channel,
                       const RowErrors& errors, const FloatModel& model);

/// The bounds of one row of a head. Without ALiBi and dropout; operands must be values of the format.
struct RowBounds {
  std::vector<Enclosure> weights;
  Enclosure lse;
  std::vector<Enclosure> output;
};
RowBounds row_bounds(const Head<Enclosure>& head, std::size_t i, const AttendedRow<Enclosure>& row,
                     const FloatModel& model);

}  // namespace attest
