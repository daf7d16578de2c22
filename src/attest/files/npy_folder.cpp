#include "attest/files/npy_folder.hpp"

#include <algorithm>

#include "attest/files/array_files.hpp"
#include "attest/files/whole_file.hpp"

namespace attest {

namespace fs = std::filesystem;

namespace {

/// In the order of the alphabet, since a folder has none of its own.
std::vector<std::string> names_in(const fs::path& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  require(!error, "CAS.C16", "{}: a folder that can be read", folder.string());
  std::ranges::sort(names);
  return names;
}

}  // namespace

bool looks_like_npy_folder(const fs::path& folder) {
  return std::ranges::any_of(names_in(folder), [](const std::string& name) { return name.ends_with(".npy"); });
}

Archive read_npy_folder(const fs::path& folder) {
  const std::vector<std::string> names = names_in(folder);
  return read_array_files({names, [&](std::size_t n) { return read_whole(folder / names[n]); }});
}

}  // namespace attest
