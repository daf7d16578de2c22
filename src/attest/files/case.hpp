#pragma once
/// A case: an attention call from a real run, with the answers that an implementation gave.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attest/conventions/conventions.hpp"
#include "attest/definitions/problem.hpp"
#include "attest/files/array.hpp"

namespace attest {

/// The names of outputs that can be judged: out lse weights scores present_k present_v.
using OutputName = std::string;

/// An answer found in a file, axes (B, H, Sq, ...) whatever the file's layout: out has rank 4, lse rank 3 (B, H, Sq),
/// weights and scores rank 4 (B, H, Sq, Sk), present_k and present_v rank 4.
struct Output {
  Format format;
  Tensor<double> values;
};

struct Case {
  Problem problem;
  std::map<OutputName, Output> outputs;
  std::map<std::string, Dtype> dtypes = {};  ///< of the input tensors as the file held them, where that is known
};

/// Reads a case, detected by content: a folder with model.onnx, or an archive (archive.hpp). `overrides` are call
/// record keys that win over the file's (the command's --set). Refuses bad input with the id of the constraint (CAS.*,
/// ATT.*, MSK.*).
Case read_case(const std::filesystem::path& path, const std::vector<Setting>& overrides = {});

/// Reads only answers (out lse weights scores present_k present_v) for a problem already known, in the layout of its
/// record: the command's --result.
std::map<OutputName, Output> read_outputs(const std::filesystem::path& path, const Problem& problem);

/// The archive of outputs in the problem's layout, ready to be written. Layout THD has no weights and scores: CAS.C8.
Archive archive_of(const std::map<OutputName, Output>& outputs, const Problem& problem);

/// A whole case as an archive in layout BHSD, every key of the record explicit. A tensor keeps its dtype where that is
/// known and holds its values, and is F64 otherwise.
Archive archive_of(const Case& one);

}  // namespace attest
