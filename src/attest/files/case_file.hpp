#pragma once
/// The case format: what the tensors and the metadata of an archive say about an attention call (spec/case-format.md).

#include "attest/files/case.hpp"

namespace attest {

/// The case that an archive holds. Refuses, naming the tensor or key, whatever is missing, unknown (CAS.C5, CAS.C8), of
/// another shape (CAS.C9) or dtype (CAS.C10), inadmissible (CAS.C6, CAS.C7, CAS.C11), and what check() refuses.
/// `overrides` win over the archive's metadata, `convention` and the head counts included.
Case case_from(const Archive& archive, const std::vector<Setting>& overrides = {});

/// The answers in an archive that holds nothing else.
std::map<OutputName, Output> outputs_from(const Archive& archive, const Problem& problem);

}  // namespace attest
