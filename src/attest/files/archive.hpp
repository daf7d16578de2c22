#pragma once
/// The container of a case or of answers, whichever it is.

#include <filesystem>

#include "attest/files/array.hpp"

namespace attest {

/// Reads a safetensors file, an npz file or a folder of .npy files, detected by content. Refuses anything else:
/// CAS.C17.
Archive read_archive(const std::filesystem::path& path);

}  // namespace attest
