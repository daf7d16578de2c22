#pragma once
/// Chapter 18 (BND): how far the definitions, evaluated in a machine's arithmetic, can be from their real values. Every
/// bound is evaluated in enclosures and its upper end is the tolerance; none is tuned. Derivations are in chapter 18.

#include "attest/definitions/attention.hpp"

namespace attest {

/// What the bounds assume of an arithmetic. Operations are correctly rounded with unit roundoff u; a product or a
/// quotient below `smallest_normal` is off by at most u * smallest_normal instead. exp and tanh are off by at most
/// their error times max(|f(x)|, smallest_normal), log by its error times |log x|. Nothing overflows, and no scale
/// underflows.
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

/// BND.B1  gamma(n) = n u / (1 - n u): n roundings in a row change a number by this much at most, relatively. Refuses
/// n u >= 1: BND.C1.
Enclosure gamma(std::size_t n, const FloatModel& model);

/// BND.B2  dot_bound(a, b) = gamma(n) sum |a_c b_c| + n (1 + gamma(n)) u lambda: a dot product added in any order.
/// lambda is the smallest normal number.
Enclosure dot_bound(Row<Enclosure> a, Row<Enclosure> b, const FloatModel& model);

/// BND.B5  logit_bound(i, j): the error of the logit that the definition computes from exactly represented operands.
Enclosure logit_bound(const Head<Enclosure>& head, std::size_t i, std::size_t j, const FloatModel& model);

/// The errors that a row's outputs share: rho of an exponential, rho_total < 1 of their sum, both relative; `lost`, the
/// greatest absolute error of an exponential over the sum, from underflow; `logit`, of the worst logit.
struct RowErrors {
  Enclosure rho;
  Enclosure rho_total;
  Enclosure lost;
  Enclosure logit;
};

/// BND.B3  row_errors(row): of softmax over n logits, a sink among them, that carry the errors given. With E the worst
/// of these and G the greatest gap to the highest logit: rho = exp(E + u (G + 2E)) (1 + exp_error) - 1 and
/// rho_total = (1 + rho) (1 + gamma(n-1)) - 1 + (1 + gamma(n-1)) n lost. Refuses rho_total >= 1: BND.C3.
RowErrors row_errors(const std::vector<Enclosure>& logits, const std::vector<Enclosure>& errors,
                     const FloatModel& model);

/// BND.B3  weight_bound: w ((1 + rho)(1 + u)/(1 - rho_total) - 1) + lost (1 + u)/(1 - rho_total) + u lambda
Enclosure weight_bound(const Enclosure& weight, const RowErrors& errors, const FloatModel& model);

/// BND.B3  lse_bound: -log(1 - rho_total), the error of the logarithm and the rounding of its sum with the shift; in
/// base 2 also those of the division by log 2. The errors of a row with more logits, such as a sink, serve as well.
Enclosure lse_bound(const Enclosure& lse, std::size_t n, const RowErrors& errors, LseBase base,
                    const FloatModel& model);

/// BND.B4  output_bound(c): the quotient (sum e_k v_kc) / (sum e_k), in terms of A = sum w_k |v_kc|.
Enclosure output_bound(const Head<Enclosure>& head, const AttendedRow<Enclosure>& row, std::size_t channel,
                       const RowErrors& errors, const FloatModel& model);

/// The bounds of one row of a head. Refuses dropout: BND.C2. Not checked: that there is no ALiBi, and that operands
/// (q, k, v, bias, sink, cap, descale factors, width) are values of the format; the scale may be any number.
struct RowBounds {
  std::vector<Enclosure> weights;
  Enclosure lse;
  std::vector<Enclosure> output;
};
RowBounds row_bounds(const Head<Enclosure>& head, std::size_t i, const AttendedRow<Enclosure>& row,
                     const FloatModel& model);

}  // namespace attest
