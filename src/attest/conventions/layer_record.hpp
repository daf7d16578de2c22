#pragma once
/// Chapter 20 (CNV): the record of a layer's call: that of the attention inside it, and what else two layers may mean
/// differently.

#include "attest/conventions/conventions.hpp"

namespace attest {

/// How a file holds a weight: (in, out), multiplied from the right, or (out, in).
enum class WeightAxes { in_out, out_in };

/// How a file holds inputs and output: (B, S, E) or (S, B, E).
enum class InputAxes { batch_first, sequence_first };

/// CNV.D16  The record of a layer. `call.layout` and `call.dropout` are not keys of it: heads are inside the weights,
/// and the probability is a slot of the state.
struct LayerRecord {
  Call call;
  WeightAxes weight_axes = WeightAxes::in_out;
  InputAxes input_axes = InputAxes::batch_first;
  bool training = false;
  bool zero_attention = false;  ///< one more key and value, all zeros
};

/// CNV.D16  The record of a layer case: a convention that layers have with the explicit keys applied, or all keys.
/// Refuses by CAS.C5 to CAS.C7.
LayerRecord layer_record_from(std::map<std::string, std::string> keys);

/// Every key of the record but `convention` as text, the layer's own first.
std::vector<Setting> describe(const LayerRecord& record);

}  // namespace attest
