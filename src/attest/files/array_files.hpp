#pragma once
/// An archive whose tensors are files of their own: NAME.npy each, and their keys in case.json or case.npy. They lie in
/// an npz archive or in a folder.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attest/files/array.hpp"

namespace attest {

/// The files of one archive: their names, and how one of them is read.
struct ArrayFiles {
  std::vector<std::string> names;
  std::function<std::vector<std::byte>(std::size_t n)> load;  ///< the content of the file names[n]
};

/// A name from outside as a message can show it: at most 100 bytes, and a question mark for what is not printable.
std::string shown(std::string_view name);

/// Reads them, one at a time. Refuses a name with a path in it, twice, or of no file of a case (CAS.C22), more than
/// 1024 of them, keys of another form (CAS.C21), "dtypes" of an array that is not there (CAS.C19), and what parse_npy
/// refuses.
Archive read_array_files(const ArrayFiles& files);

}  // namespace attest
