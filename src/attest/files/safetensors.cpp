#include "attest/files/safetensors.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "attest/files/safetensors_header.hpp"

namespace attest {

namespace {

constexpr std::size_t length_bytes = 8;
constexpr std::size_t largest_header = 100'000'000;

/// One tensor of the header, its claims checked against each other.
struct Stored {
  std::string name;
  Dtype dtype;
  Shape shape;
  std::size_t begin;
  std::size_t end;
};

std::uint64_t load_length(std::span<const std::byte> file) {
  std::uint64_t length = 0;
  for (std::size_t n = length_bytes; n-- > 0;) length = length << 8 | std::to_integer<std::uint64_t>(file[n]);
  return length;
}

std::string_view header_text(std::span<const std::byte> file) {
  require(file.size() >= length_bytes, "CAS.C1", "header length: 8 bytes, got a file of {}", file.size());
  const std::uint64_t length = load_length(file);
  const std::size_t rest = file.size() - length_bytes;
  require(length <= rest, "CAS.C1", "header length: at most the {} bytes that follow, got {}", rest, length);
  require(length <= largest_header, "CAS.C1", "header length: at most 100 MB, got {}", length);
  return {reinterpret_cast<const char*>(file.data()) + length_bytes, static_cast<std::size_t>(length)};
}

/// Refuses a shape whose bytes are not those between the offsets, without overflow on the way.
void require_size(const Stored& tensor, std::size_t file_bytes) {
  const std::optional<std::size_t> count = stored_count(tensor.shape, file_bytes);
  require(count.has_value(), "CAS.C4", "{}: shape {} is too large for this file", tensor.name, to_string(tensor.shape));
  const std::size_t needed = *count * width_of(tensor.dtype);
  require(needed == tensor.end - tensor.begin, "CAS.C4", "{}: {} of shape {} takes {} bytes, got {}", tensor.name,
          name_of(tensor.dtype), to_string(tensor.shape), needed, tensor.end - tensor.begin);
}

Stored checked(const std::string& name, const HeaderEntry& entry, std::size_t data_bytes) {
  const std::size_t begin = entry.data_offsets->front();
  const std::size_t end = entry.data_offsets->back();
  require(begin <= end && end <= data_bytes, "CAS.C3", "{}.data_offsets: 0 <= begin <= end <= {}, got {} and {}", name,
          data_bytes, begin, end);
  const std::optional<Dtype> dtype = dtype_named(*entry.dtype);
  require(dtype.has_value(), "CAS.C4", "{}.dtype: a known one, got {}", name, *entry.dtype);
  Stored tensor{name, *dtype, *entry.shape, begin, end};
  require_size(tensor, data_bytes);
  return tensor;
}

/// Refuses offsets that do not tile the data from its first byte to its last.
void require_tiling(std::vector<Stored> tensors, std::size_t data_bytes) {
  std::ranges::sort(tensors, {}, [](const Stored& t) { return std::pair(t.begin, t.end); });
  std::size_t reached = 0;
  for (const Stored& tensor : tensors) {
    require(tensor.begin == reached, "CAS.C3",
            "{}.data_offsets: tensors without overlap or gap, so to begin at {}, got {}", tensor.name, reached,
            tensor.begin);
    reached = tensor.end;
  }
  require(reached == data_bytes, "CAS.C3", "data_offsets: tensors that end with the file, at {}, got {}", data_bytes,
          reached);
}

/// Names in the order in which their tensors are written.
std::vector<std::string> file_order(const Archive& archive) {
  std::vector<std::string> names;
  for (const auto& [name, array] : archive.tensors) names.push_back(name);
  std::ranges::stable_sort(names, std::greater(),
                           [&](const std::string& name) { return width_of(archive.tensors.at(name).dtype); });
  return names;
}

std::string header_of(const Archive& archive, const std::vector<std::string>& order) {
  nlohmann::json header = nlohmann::json::object();
  if (!archive.metadata.empty()) header["__metadata__"] = archive.metadata;
  std::size_t begin = 0;
  for (const std::string& name : order) {
    const Array& array = archive.tensors.at(name);
    const std::size_t end = begin + array.values.size() * width_of(array.dtype);
    const Shape shape(array.values.shape().begin(), array.values.shape().end());
    header[name] = {{"dtype", name_of(array.dtype)}, {"shape", shape}, {"data_offsets", {begin, end}}};
    begin = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  return text;
}

}  // namespace

bool looks_like_safetensors(std::span<const std::byte> file) {
  return file.size() > length_bytes && file[length_bytes] == std::byte('{');
}

Archive parse_safetensors(std::span<const std::byte> file) {
  const std::string_view text = header_text(file);
  SafetensorsHeader header = parse_safetensors_header(text);
  const std::span<const std::byte> data = file.subspan(length_bytes + text.size());
  std::vector<Stored> tensors;
  for (const auto& [name, entry] : header.entries) tensors.push_back(checked(name, entry, data.size()));
  require_tiling(tensors, data.size());

  Archive archive{{}, std::move(header.metadata)};
  for (const Stored& t : tensors) {
    archive.tensors.emplace(t.name, decode_array(t.dtype, t.shape, data.subspan(t.begin, t.end - t.begin), t.name));
  }
  return archive;
}

std::vector<std::byte> format_safetensors(const Archive& archive) {
  const std::vector<std::string> order = file_order(archive);
  const std::string header = header_of(archive, order);
  std::vector<std::byte> file(length_bytes + header.size());
  for (std::size_t n = 0; n < length_bytes; ++n) file[n] = static_cast<std::byte>(header.size() >> 8 * n & 0xff);
  std::memcpy(file.data() + length_bytes, header.data(), header.size());
  for (const std::string& name : order) {
    const std::vector<std::byte> bytes = encode_array(archive.tensors.at(name), name);
    file.insert(file.end(), bytes.begin(), bytes.end());
  }
  return file;
}

}  // namespace attest
