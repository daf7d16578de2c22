#include "attest/files/case.hpp"

#include "attest/files/archive.hpp"
#include "attest/files/case_file.hpp"
#include "attest/files/onnx_folder.hpp"

namespace attest {

namespace fs = std::filesystem;

Case read_case(const fs::path& path, const std::vector<Setting>& overrides) {
  std::error_code error;
  const bool onnx = fs::is_directory(path, error) && fs::exists(path / "model.onnx", error);
  if (onnx) return read_onnx_folder(path, overrides);
  return case_from(read_archive(path), overrides);
}

std::map<OutputName, Output> read_outputs(const fs::path& path, const Problem& problem) {
  return outputs_from(read_archive(path), problem);
}

}  // namespace attest
