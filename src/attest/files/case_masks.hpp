#pragma once
/// What a case says beside its operands: masks, biases, lengths, slopes, sinks, factors.

#include "attest/files/case_tensors.hpp"

namespace attest {

/// Reads every such tensor of the archive into `inputs`, whose q, k and v have the extents of the call; their numbers
/// are not looked at. Refuses by CAS.C8 to CAS.C10; what the tensors say together is for check() to judge.
void read_masks(const Archive& archive, const Call& call, Inputs& inputs);

}  // namespace attest
