#pragma once
/// Folders of .npy files.

#include <filesystem>

#include "attest/files/array.hpp"

namespace attest {

/// Whether the folder holds an .npy file.
bool looks_like_npy_folder(const std::filesystem::path& folder);

/// Reads the folder. Refuses anything in it that is no file of a case (CAS.C22), and what read_whole and
/// read_array_files refuse.
Archive read_npy_folder(const std::filesystem::path& folder);

}  // namespace attest
