#pragma once
/// Chapter 17 (ENC): the gradients of one query row in enclosures, and the magnitudes that their units are made of.

#include "attest/certify/units.hpp"
#include "attest/gradients/attention_gradient.hpp"

namespace attest {

/// ENC.D11  centred_softmax_gradient(w, g, m)_j = w_j ((g_j - g_m) - sum_k w_k (g_k - g_m)), with the difference of m
/// itself the point 0. For weights that add up to 1, so with the sink among them, it is GRD.D1 in the reals.
template <Scalar T>
Vector<T> centred_softmax_gradient(Row<T> weights, Row<T> g, std::size_t m) {
  const Vector<T> centred = tabulate(g.size(), [&](std::size_t j) -> T { return j == m ? T(0) : T(g[j] - g[m]); });
  return softmax_gradient(weights, row_of(centred));
}

/// A row of gradients and, for their units, the weight of the sink; 0 without one.
struct CentredRow {
  RowGradient<Enclosure> gradient;
  double sink_weight;
};

/// GRD.D9 by way of ENC.D11, centred at the key or sink with the greatest weight.
CentredRow centred_row_gradient(const Head<Enclosure>& head, std::size_t i, Row<Enclosure> g,
                                const std::optional<Enclosure>& g_lse);

/// ENC.D9  The magnitudes of the same row: each member is the sum of |term| over the terms that add up to it. `head`
/// has the inputs as they are, `row` the weights; g and g_lse are the cotangents.
RowGradient<double> gradient_magnitudes(const Head<double>& head, std::size_t i, const CentredRow& row, Row<double> g,
                                        const std::optional<double>& g_lse);

/// ENC.D9  The head whose numbers are the magnitudes of the given one's.
Head<double> magnitudes_of(Head<double> head);

}  // namespace attest
