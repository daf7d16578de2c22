#include "attest/files/array_files.hpp"

#include <algorithm>
#include <set>

#include "attest/files/case_keys.hpp"
#include "attest/files/npy.hpp"

namespace attest {

namespace {

constexpr std::string_view array_suffix = ".npy";
constexpr std::string_view keys_file = "case.json";
constexpr std::string_view keys_array = "case.npy";
constexpr std::size_t most_files = 1024;
constexpr std::size_t longest_name = 1024;
constexpr std::size_t longest_shown = 100;

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool is_keys(std::string_view name) { return name == keys_file || name == keys_array; }

/// A path would be a name of no tensor in any case; it is refused here because it is how archives do harm elsewhere.
void require_plain(std::string_view name) {
  const bool known = name == keys_file || (name.ends_with(array_suffix) && name.size() > array_suffix.size());
  const bool plain =
      std::ranges::none_of(name, [](char c) { return c == '/' || c == '\\' || c == ':' || is_control(c); });
  require(known && plain && name.size() <= longest_name, "CAS.C22",
          "\"{}\": NAME.npy or case.json, without a path, or it is no file of a case", shown(name));
}

void require_names(const std::vector<std::string>& names) {
  require(names.size() <= most_files, "CAS.C22", "files: at most {}, got {}", most_files, names.size());
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    require_plain(name);
    require(seen.insert(name).second, "CAS.C22", "\"{}\": only once", shown(name));
  }
  require(!seen.contains(keys_file) || !seen.contains(keys_array), "CAS.C22",
          "\"{}\": not together with {}, which says the same", keys_file, keys_array);
}

CaseKeys read_keys(const ArrayFiles& files) {
  const auto found = std::ranges::find_if(files.names, is_keys);
  if (found == files.names.end()) return {};
  const std::vector<std::byte> content = files.load(static_cast<std::size_t>(found - files.names.begin()));
  if (*found == keys_array) return parse_case_keys(parse_npy_text(content, *found), *found);
  return parse_case_keys({reinterpret_cast<const char*>(content.data()), content.size()}, *found);
}

}  // namespace

std::string shown(std::string_view name) {
  std::string text(name.substr(0, longest_shown));
  std::ranges::replace_if(text, is_control, '?');
  return text;
}

Archive read_array_files(const ArrayFiles& files) {
  require_names(files.names);
  CaseKeys keys = read_keys(files);
  for (const auto& [name, dtype] : keys.dtypes) {
    const bool there = name + std::string(array_suffix) != keys_array &&
                       std::ranges::find(files.names, name + std::string(array_suffix)) != files.names.end();
    require(there, "CAS.C19", "dtypes.{}: an array that is there", name);
  }
  Archive archive{{}, std::move(keys.metadata)};
  for (std::size_t n = 0; n < files.names.size(); ++n) {
    const std::string& file = files.names[n];
    if (is_keys(file)) continue;
    const std::string name = file.substr(0, file.size() - array_suffix.size());
    const auto declared = keys.dtypes.find(name);
    archive.tensors.emplace(
        name, parse_npy(files.load(n), file,
                        declared == keys.dtypes.end() ? std::nullopt : std::optional<Dtype>(declared->second)));
  }
  return archive;
}

}  // namespace attest
