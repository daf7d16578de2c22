#pragma once
/// Answers for an ONNX node: the tensor `out`, in the shape of its operand.

#include "attest/files/case.hpp"

namespace attest {

/// The answer in an archive that holds nothing else. Refuses by CAS.C5, CAS.C7, CAS.C8, CAS.C9, CAS.C10.
std::map<OutputName, Output> outputs_from(const Archive& archive, const NodeCase& node);

}  // namespace attest
