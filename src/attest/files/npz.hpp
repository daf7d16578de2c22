#pragma once
/// numpy's .npz: a zip archive of .npy files.

#include <span>

#include "attest/files/array.hpp"

namespace attest {

/// Whether the bytes begin like a zip archive: with the header of a member, or, if it has none, with the end.
bool looks_like_zip(std::span<const std::byte> file);

/// Reads a whole archive held in memory. Refuses an archive that is damaged or inconsistent, encrypted, or compressed
/// otherwise than by deflate (CAS.C23), members that unpack to more than the file can justify (CAS.C24), and what
/// read_array_files refuses. Members are unpacked one at a time.
Archive parse_npz(std::span<const std::byte> file);

}  // namespace attest
