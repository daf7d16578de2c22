#pragma once
/// Folders as ONNX's node tests have them: model.onnx, test_data_set_0/input_K.pb, test_data_set_0/output_K.pb.

#include <filesystem>
#include <vector>

#include "attest/files/case.hpp"
#include "attest/files/onnx_graph.hpp"

namespace attest {

/// Reads a folder whose model is one node of Attention. K counts the graph's inputs and outputs in order. `overrides`
/// are keys of the call record, and `onnx_qk_modes` (current, or before-1.22: modes 1 and 2 exchanged). Refuses another
/// model (CAS.C12), attributes that are not admissible (CAS.C13), tensors that do not fit the graph (CAS.C14).
Case read_onnx_folder(const std::filesystem::path& folder, const std::vector<Setting>& overrides = {});

/// The same, for a graph that has been read from the folder.
Case attention_case(const std::filesystem::path& folder, const OnnxGraph& graph, const std::vector<Setting>& overrides);

}  // namespace attest
