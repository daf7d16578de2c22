#pragma once
/// Files read and written whole.

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace attest {

/// Refuses a path that cannot be read, is no regular file, or is larger than 16 GiB: CAS.C16.
std::vector<std::byte> read_whole(const std::filesystem::path& path);

/// Writes to a temporary neighbour and renames it, so that `path` holds the old content or the new, never a part.
/// Refuses a path that cannot be written: CAS.C15.
void write_whole(const std::filesystem::path& path, std::span<const std::byte> bytes);

/// Refuses what write_whole would refuse, before the work whose result is to be written, and a path that leads to the
/// file, or into the folder, that is being read: CAS.C15.
void require_writable(const std::filesystem::path& path, const std::filesystem::path& read);

}  // namespace attest
