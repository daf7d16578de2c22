#pragma once
/// Answers between the layout of a file and attest's own: (B, H, S, channel), the log-sum-exp (B, H, S).

#include "attest/files/case.hpp"

namespace attest {

/// Those answers of an archive that are there. Refuses by CAS.C8, CAS.C9, CAS.C10.
std::map<OutputName, Output> unpack_outputs(const Archive& archive, const Problem& problem);

/// What the gradients come from, if it is there: dout, and dlse, which needs dout. Refuses by CAS.C8, CAS.C9, CAS.C10.
std::optional<Cotangents> unpack_cotangents(const Archive& archive, const Problem& problem);

/// The inverse of unpack_outputs.
std::map<std::string, Array> pack_outputs(const std::map<OutputName, Output>& outputs, const Problem& problem);

}  // namespace attest
