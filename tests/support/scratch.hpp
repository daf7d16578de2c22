#pragma once
/// A folder for one test.

#include <stdlib.h>

#include <filesystem>
#include <string>

namespace attest {

/// An empty folder of its own, gone after the test.
class Scratch {
 public:
  Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "attest-XXXXXX";
    folder = mkdtemp(name.data());
  }
  ~Scratch() { std::filesystem::remove_all(folder); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::filesystem::path folder;
};

}  // namespace attest
