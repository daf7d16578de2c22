#include "attest/files/case.hpp"

#include "attest/files/archive.hpp"
#include "attest/files/case_file.hpp"
#include "attest/files/case_record.hpp"
#include "attest/files/layer_case.hpp"
#include "attest/files/node_outputs.hpp"
#include "attest/files/onnx_folder.hpp"
#include "attest/files/onnx_node_folder.hpp"

namespace attest {

namespace fs = std::filesystem;

AnyCase any_case_from(const Archive& archive, const std::vector<Setting>& overrides) {
  const auto schema = archive.metadata.find("schema");
  const bool layer = schema != archive.metadata.end() && schema->second == layer_schema;
  return layer ? AnyCase(layer_case_from(archive, overrides)) : AnyCase(case_from(archive, overrides));
}

AnyCase read_any_case(const fs::path& path, const std::vector<Setting>& overrides) {
  std::error_code error;
  const bool onnx = fs::is_directory(path, error) && fs::exists(path / "model.onnx", error);
  if (!onnx) return any_case_from(read_archive(path), overrides);
  const OnnxGraph graph = read_onnx_graph(path / "model.onnx");
  if (graph.op_type == "Attention") return attention_case(path, graph, overrides);
  return node_case(path, graph, overrides);
}

Case read_case(const fs::path& path, const std::vector<Setting>& overrides) {
  AnyCase any = read_any_case(path, overrides);
  require(std::holds_alternative<Case>(any), "CAS.C17", "{}: an attention call, got another kind of case",
          path.string());
  return std::get<Case>(std::move(any));
}

std::map<OutputName, Output> read_outputs(const fs::path& path, const Problem& problem) {
  return outputs_from(read_archive(path), problem);
}

std::map<OutputName, Output> read_outputs(const fs::path& path, const LayerCase& layer) {
  return outputs_from(read_archive(path), layer);
}

std::map<OutputName, Output> read_outputs(const fs::path& path, const NodeCase& node) {
  return outputs_from(read_archive(path), node);
}

}  // namespace attest
