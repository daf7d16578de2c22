#pragma once
/// `attest learn --record`: a training written down for a program that is to compute the same.

#include "attest/files/array.hpp"
#include "attest/training/train.hpp"

namespace attest {

/// TRN.D20  learning_record(block, example, steps): tokens, targets, and for each step, along a first axis, the weights
/// before it with TRN.B1: loss, logits, gradient of every slot, and a bound of each number. Shows its progress on a
/// terminal.
Archive learning_record(const DecoderBlock<double>& start, const Example<>& example, std::size_t steps);

}  // namespace attest
