#pragma once
/// A case: an attention call from a real run, with the answers that an implementation gave.

#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "attest/certify/certify_gradient.hpp"
#include "attest/conventions/layer_record.hpp"
#include "attest/definitions/layer_problem.hpp"
#include "attest/definitions/row_operation.hpp"
#include "attest/files/array.hpp"

namespace attest {

/// The names of outputs that can be judged: out lse weights scores present_k present_v dq dk dv dbias dsink.
using OutputName = std::string;

/// An answer found in a file, axes (B, H, Sq, ...) whatever the file's layout: out has rank 4, lse rank 3 (B, H, Sq),
/// weights and scores rank 4 (B, H, Sq, Sk), present_k and present_v rank 4. A gradient has the shape of its input as
/// the problem holds it: dq, dk, dv and dbias rank 4, dsink rank 1.
struct Output {
  Format format;
  Tensor<double> values;
};

struct Case {
  Problem problem;
  std::map<OutputName, Output> outputs;
  std::map<std::string, Dtype> dtypes = {};   ///< of the input tensors as the file held them, where that is known
  std::optional<Cotangents> cotangents = {};  ///< where the case is one of gradients too
};

/// An ONNX node beside attention: Softmax, RMSNormalization or RotaryEmbedding. Its one output is called `out`.
struct NodeCase {
  std::vector<Setting> record;                        ///< operator, version, and every attribute with its value
  std::vector<std::pair<std::string, Shape>> inputs;  ///< the node's tensors, by the operator's names for them
  RowOperation operation;
  std::map<OutputName, Output> outputs;
};

/// The call of a configured layer. Answers have the axes out (B, Sq, Eo), weights (B, Hq, Sq, Sk), mean_weights
/// (B, Sq, Sk).
struct LayerCase {
  LayerRecord record;
  LayerProblem problem;
  std::map<OutputName, Output> outputs;
};

/// A case of any kind. What the commands ask of one is in cli/case_kinds.hpp, a function for each kind.
using AnyCase = std::variant<Case, LayerCase, NodeCase>;

/// Reads a case, detected by content: a folder with model.onnx, or an archive (archive.hpp). `overrides` are call
/// record keys that win over the file's (the command's --set). Refuses bad input with the id of the constraint (CAS.*,
/// ATT.*, MSK.*).
AnyCase read_any_case(const std::filesystem::path& path, const std::vector<Setting>& overrides = {});

/// The case that an archive holds: of a layer, or of an attention call, as its schema says.
AnyCase any_case_from(const Archive& archive, const std::vector<Setting>& overrides = {});

/// The same for an attention call; refuses a case of another kind.
Case read_case(const std::filesystem::path& path, const std::vector<Setting>& overrides = {});

/// Reads only answers for a problem already known, in the layout of its record: the command's --result.
std::map<OutputName, Output> read_outputs(const std::filesystem::path& path, const Problem& problem);

/// The same for a layer.
std::map<OutputName, Output> read_outputs(const std::filesystem::path& path, const LayerCase& layer);

/// The same for a node: `out`, in the shape of its operand.
std::map<OutputName, Output> read_outputs(const std::filesystem::path& path, const NodeCase& node);

/// The archive of a layer's outputs in the axes of its case.
Archive archive_of(const std::map<OutputName, Output>& outputs, const LayerCase& layer);

/// The archive of a node's output, ready to be written.
Archive archive_of(const std::map<OutputName, Output>& outputs, const NodeCase& node);

/// The archive of outputs in the problem's layout, ready to be written. Layout THD has no weights and scores: CAS.C8.
Archive archive_of(const std::map<OutputName, Output>& outputs, const Problem& problem);

/// A whole case as an archive in layout BHSD, every key of the record explicit. A tensor keeps its dtype where that is
/// known and holds its values, and is F64 otherwise.
Archive archive_of(const Case& one);

}  // namespace attest
