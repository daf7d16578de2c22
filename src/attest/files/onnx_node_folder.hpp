#pragma once
/// ONNX node-test folders whose node stands beside attention: Softmax, RMSNormalization, RotaryEmbedding.

#include <filesystem>
#include <vector>

#include "attest/files/case.hpp"
#include "attest/files/onnx_graph.hpp"

namespace attest {

/// The case of a graph that has been read from the folder. Refuses another operator or opset (CAS.C12), attributes that
/// are not admissible (CAS.C13), tensors that do not fit (CAS.C14), and any override: a node has no call record
/// (CAS.C5).
NodeCase node_case(const std::filesystem::path& folder, const OnnxGraph& graph, const std::vector<Setting>& overrides);

}  // namespace attest
