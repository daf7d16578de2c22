#pragma once
/// Chapter 17 (ENC): the unit of distance of each output, before the unit roundoff of its format is multiplied in. A
/// unit is the first-order effect on the output of a relative error of 1 in each product, logit, exponential and sum:
/// what a kernel of that precision cannot avoid. Units scale a report and decide nothing, so they are plain doubles.

#include "attest/definitions/attention.hpp"

namespace attest {

/// A row's weights and logits as doubles, from which its units are made.
struct Magnitudes {
  std::vector<double> weights;  ///< w_k
  std::vector<double> logits;   ///< |s_k|
};

Magnitudes magnitudes_of(const AttendedRow<Enclosure>& row);

/// sum_k w_k |s_k|
double mean_logit(const Magnitudes& m);

/// ENC.D6  output: |output scale| * sum_k w_k |v_kc|, over the visible kept keys.
double output_unit(const Magnitudes& m, const std::vector<std::size_t>& keys, const Head<double>& given, std::size_t i,
                   std::size_t channel);

/// ENC.D6  log-sum-exp: 1 + sum_k w_k |s_k|; in base 2 all of it over log 2.
double lse_unit(const Magnitudes& m, LseBase base);

/// ENC.D6  weight k: w_k (1 + |s_k| + sum_l w_l |s_l|)
double weight_unit(const Magnitudes& m, std::size_t k);

/// ENC.D6  score (i, j): |scale| sum_c |q_c k_c|, plus the size of what the bias has added by that stage.
double score_unit(const Head<double>& given, std::size_t i, std::size_t j, ScoreStage stage);

}  // namespace attest
