#include "attest/files/archive.hpp"

#include "attest/files/npy_folder.hpp"
#include "attest/files/npz.hpp"
#include "attest/files/safetensors.hpp"
#include "attest/files/whole_file.hpp"

namespace attest {

Archive read_archive(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    require(looks_like_npy_folder(path), "CAS.C17", "{}: a folder with model.onnx, or with .npy files", path.string());
    return read_npy_folder(path);
  }
  const std::vector<std::byte> file = read_whole(path);
  if (looks_like_zip(file)) return parse_npz(file);
  require(looks_like_safetensors(file), "CAS.C17",
          "{}: a safetensors file (a header length of 8 bytes, then a brace), an npz file, or a folder", path.string());
  return parse_safetensors(file);
}

}  // namespace attest
