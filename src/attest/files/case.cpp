#include "attest/files/case.hpp"

#include "attest/files/case_file.hpp"
#include "attest/files/case_record.hpp"
#include "attest/files/layer_case.hpp"
#include "attest/files/node_outputs.hpp"
#include "attest/files/onnx_folder.hpp"
#include "attest/files/safetensors.hpp"
#include "attest/files/whole_file.hpp"

namespace attest {

namespace fs = std::filesystem;

namespace {

Archive read_safetensors(const fs::path& path) {
  const std::vector<std::byte> file = read_whole(path);
  require(looks_like_safetensors(file), "CAS.C17",
          "{}: a folder with model.onnx, or a safetensors file (a header length of 8 bytes, then a brace)",
          path.string());
  return parse_safetensors(file);
}

/// The schema says which kind of case an archive holds.
AnyCase any_case_from(const Archive& archive, const std::vector<Setting>& overrides) {
  const auto schema = archive.metadata.find("schema");
  const bool layer = schema != archive.metadata.end() && schema->second == layer_schema;
  return layer ? AnyCase(layer_case_from(archive, overrides)) : AnyCase(case_from(archive, overrides));
}

}  // namespace

AnyCase read_any_case(const fs::path& path, const std::vector<Setting>& overrides) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return any_case_from(read_safetensors(path), overrides);
  require(fs::exists(path / "model.onnx", error), "CAS.C17", "{}: a folder with model.onnx, or a safetensors file",
          path.string());
  return read_onnx_folder(path, overrides);
}

Case read_case(const fs::path& path, const std::vector<Setting>& overrides) {
  AnyCase any = read_any_case(path, overrides);
  require(std::holds_alternative<Case>(any), "CAS.C17", "{}: an attention call, got another kind of case",
          path.string());
  return std::get<Case>(std::move(any));
}

std::map<OutputName, Output> read_outputs(const fs::path& path, const Problem& problem) {
  return outputs_from(read_safetensors(path), problem);
}

std::map<OutputName, Output> read_outputs(const fs::path& path, const LayerCase& layer) {
  return outputs_from(read_safetensors(path), layer);
}

std::map<OutputName, Output> read_outputs(const fs::path& path, const NodeCase& node) {
  return outputs_from(read_safetensors(path), node);
}

}  // namespace attest
