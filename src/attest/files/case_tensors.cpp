#include "attest/files/case_tensors.hpp"

#include <fmt/ranges.h>

namespace attest {

namespace {

/// Layouts that have the tensor: all, those with padded extents (all but THD), or THD alone.
enum class Layouts { all, padded, packed };

struct Known {
  std::string name;
  bool output;
  Layouts layouts;
};

const std::vector<Known> known_tensors = {
    {"q", false, Layouts::all},
    {"k", false, Layouts::all},
    {"v", false, Layouts::all},
    {"bias", false, Layouts::all},
    {"visible", false, Layouts::all},
    {"key_padding", false, Layouts::padded},
    {"q_lengths", false, Layouts::padded},  // THD has its lengths in its boundaries
    {"k_lengths", false, Layouts::padded},
    {"document_q", false, Layouts::all},
    {"document_k", false, Layouts::all},
    {"prefix_lengths", false, Layouts::all},
    {"offsets", false, Layouts::all},
    {"cu_seqlens_q", false, Layouts::packed},
    {"cu_seqlens_k", false, Layouts::packed},
    {"alibi_slopes", false, Layouts::all},
    {"sink", false, Layouts::all},
    {"kept", false, Layouts::all},
    {"descale_q", false, Layouts::all},
    {"descale_k", false, Layouts::all},
    {"descale_v", false, Layouts::all},
    {"past_k", false, Layouts::padded},
    {"past_v", false, Layouts::padded},
    {"dout", false, Layouts::all},
    {"dlse", false, Layouts::all},
    {"out", true, Layouts::all},
    {"lse", true, Layouts::all},
    {"weights", true, Layouts::padded},  // (q, k) pairs have no packed form that anyone agrees on
    {"scores", true, Layouts::padded},
    {"present_k", true, Layouts::padded},
    {"present_v", true, Layouts::padded},
    {"dq", true, Layouts::all},
    {"dk", true, Layouts::all},
    {"dv", true, Layouts::all},
    {"dbias", true, Layouts::all},
    {"dsink", true, Layouts::all},
};

std::vector<Known>::const_iterator known(const std::string& name) {
  return std::ranges::find(known_tensors, name, &Known::name);
}

std::string known_names() {
  std::vector<std::string> names;
  for (const Known& entry : known_tensors) names.push_back(entry.name);
  return fmt::format("{}", fmt::join(names, " "));
}

bool has_kind(const Array& array, Kind kind) {
  switch (kind) {
    case Kind::floating: return format_of(array.dtype).has_value();
    case Kind::integer: return !format_of(array.dtype) && array.dtype != Dtype::boolean;
    case Kind::boolean: return array.dtype == Dtype::boolean || array.dtype == Dtype::u8;
  }
  return false;
}

std::string_view name_of(Kind kind) {
  switch (kind) {
    case Kind::floating: return "a floating type";
    case Kind::integer: return "an integer type";
    case Kind::boolean: return "BOOL, or U8 of 0 and 1";
  }
  return {};
}

}  // namespace

const Array* find(const Archive& archive, const std::string& name, Kind kind) {
  const auto found = archive.tensors.find(name);
  if (found == archive.tensors.end()) return nullptr;
  const Array& array = found->second;
  require(has_kind(array, kind), "CAS.C10", "{}: {}, got {}", name, name_of(kind), name_of(array.dtype));
  const bool ones =
      kind != Kind::boolean || std::ranges::all_of(array.values, [](double x) { return x == 0 || x == 1; });
  require(ones, "CAS.C10", "{}: {}, got another number", name, name_of(kind));
  return &array;
}

const Array& need(const Archive& archive, const std::string& name, Kind kind) {
  const Array* array = find(archive, name, kind);
  require(array != nullptr, "CAS.C8", "{}: required, and not there", name);
  return *array;
}

void require_shape(const std::string& name, const Tensor<double>& t, const Shape& expected, std::string_view axes) {
  require(shape_of(t) == expected, "CAS.C9", "{}: shape {} = {}, got {}", name, axes, to_string(expected),
          to_string(shape_of(t)));
}

void require_rank(const std::string& name, const Tensor<double>& t, std::size_t rank, std::string_view axes) {
  require(t.dimension() == rank, "CAS.C9", "{}: shape {}, got {}", name, axes, to_string(shape_of(t)));
}

void require_known_tensors(const Archive& archive, Layout layout) {
  const bool packed = layout == Layout::thd;
  for (const auto& [name, array] : archive.tensors) {
    const auto entry = known(name);
    require(entry != known_tensors.end(), "CAS.C8", "{}: no tensor of a case; there are {}", name, known_names());
    require(entry->layouts != Layouts::padded || !packed, "CAS.C8", "{}: not with layout THD, which packs sequences",
            name);
    require(entry->layouts != Layouts::packed || packed, "CAS.C8", "{}: only with layout THD", name);
  }
}

std::string answer_names() {
  std::vector<std::string> names;
  for (const Known& entry : known_tensors) {
    if (entry.output) names.push_back(entry.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

bool is_output(const std::string& name) {
  const auto entry = known(name);
  return entry != known_tensors.end() && entry->output;
}

}  // namespace attest
