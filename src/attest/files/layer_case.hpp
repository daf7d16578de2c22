#pragma once
/// The layer case format: what the tensors and the metadata of an archive say about a layer (spec/case-format.md).

#include "attest/files/case.hpp"

namespace attest {

/// The layer case that an archive holds: `input`, or `query`, `key` and `value`; the state by the names of its slots;
/// masks. Refuses, naming the tensor or key, whatever is missing, unknown (CAS.C5, CAS.C8), of another shape (CAS.C9)
/// or dtype (CAS.C10), inadmissible (CAS.C6, CAS.C7), and what check() refuses. `overrides` win over the metadata.
LayerCase layer_case_from(const Archive& archive, const std::vector<Setting>& overrides = {});

/// The answers in an archive that holds nothing else.
std::map<OutputName, Output> outputs_from(const Archive& archive, const LayerCase& one);

}  // namespace attest
