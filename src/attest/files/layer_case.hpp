#pragma once
/// A layer case: the call of a configured layer from a real run, with the answers that an implementation gave.

#include "attest/conventions/layer_record.hpp"
#include "attest/definitions/layer.hpp"
#include "attest/files/case.hpp"

namespace attest {

inline const std::string layer_schema = "attest-layer-1";

/// Answers have the axes out (B, Sq, Eo), weights (B, Hq, Sq, Sk), mean_weights (B, Sq, Sk).
struct LayerCase {
  LayerRecord record;
  LayerProblem problem;
  std::map<OutputName, Output> outputs;
};

/// The layer case that an archive holds: `input`, or `query`, `key` and `value`; the state by the names of its slots;
/// masks. Refuses, naming the tensor or key, whatever is missing, unknown (CAS.C5, CAS.C8), of another shape (CAS.C9)
/// or dtype (CAS.C10), inadmissible (CAS.C6, CAS.C7), and what check() refuses. `overrides` win over the metadata.
LayerCase layer_case_from(const Archive& archive, const std::vector<Setting>& overrides = {});

/// The answers in an archive that holds nothing else.
std::map<OutputName, Output> outputs_from(const Archive& archive, const LayerCase& one);

/// The archive of outputs in the axes of the case, ready to be written.
Archive archive_of(const std::map<OutputName, Output>& outputs, const LayerCase& one);

}  // namespace attest
