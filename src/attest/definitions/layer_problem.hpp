#pragma once
/// Chapter 06 (MHA): the call of a layer as a value, checked at the door, and the attention inside it.

#include "attest/definitions/layer_state.hpp"
#include "attest/definitions/problem.hpp"

namespace attest {

/// MHA.D7  A call of a layer as a value. The attention inside it has no tensors q, k, v of its own: they are projected.
struct LayerProblem {
  Call call;                                ///< of the attention inside; `dropout` is absent, it comes from the state
  LayerConfig config;                       ///<
  LayerState<double> state;                 ///<
  Tensor<double> query;                     ///< (B, Sq, Eq)
  Tensor<double> key;                       ///< (B, Sk, Ek)
  Tensor<double> value;                     ///< (B, Sk, Ev)
  std::optional<Vector<double>> key_row;    ///< (Hk D): one more key for every batch entry, after the projected ones
  std::optional<Vector<double>> value_row;  ///< (Hv Dv): its value
  bool zero_attention = false;              ///< one more key and value, all zeros, after that
  bool training = false;                    ///< dropout acts in training only
  Inputs masks;                             ///< masks, bias, slopes, sink, kept mask; no q, k, v
};

/// Refuses a layer's call that violates MHA.C4 to MHA.C7, and what `check` refuses of the attention inside.
void check(const LayerProblem& problem);

/// How many keys a layer adds to the projected ones: MHA.D8.
std::size_t added_keys(const LayerProblem& problem);

/// MHA.D8  The attention inside a layer: its record, its masks and its extents, on operands that are still zeros. Every
/// query but a padded one sees the added keys, and they have no bias.
Problem inner_problem(const LayerProblem& problem);

/// The shape of an output of a layer: out (B, Sq, Eo), weights (B, Hq, Sq, Sk), mean_weights (B, Sq, Sk), added keys
/// counted.
Shape shape_of_output(const std::string& name, const LayerProblem& problem);

}  // namespace attest
