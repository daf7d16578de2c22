#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "attest/cli/commands.hpp"
#include "attest/files/specification.hpp"
#include "attest/scalar/error.hpp"

namespace attest {

namespace {

constexpr std::size_t suggestions = 3;

/// Beside an installed command lies what was installed with it; a command in a build folder reads its source.
std::filesystem::path default_root() {
  std::error_code none;
  const std::filesystem::path command = std::filesystem::read_symlink("/proc/self/exe", none);
  const std::filesystem::path share = (command.parent_path() / ATTEST_SHARE).lexically_normal();
  return std::filesystem::is_directory(share / "spec") ? share : std::filesystem::path(ATTEST_SOURCE);
}

/// As the pages spell it: smx.d3 and SMX_D3 are SMX.D3.
std::string spelled(std::string id) {
  std::ranges::transform(id, id.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (id.size() > 3 && id[3] == '_') id[3] = '.';
  return id;
}

std::string text_of(const SpecPlace& place) {
  const std::string line = place.line == 0 ? "" : fmt::format(":{}", place.line);
  return fmt::format("{}{}{}", place.path, line, place.name.empty() ? "" : "  " + place.name);
}

void print_chapters(const std::vector<SpecChapter>& chapters) {
  for (const SpecChapter& chapter : chapters) {
    const std::string count = chapter.items.empty() ? "" : fmt::format("{} items", chapter.items.size());
    fmt::print("{}\n", fmt::format("{:<4} {:<40} {:>9}   {}", chapter.topic, chapter.title, count, chapter.place.path));
  }
  fmt::print(
      "\nattest spec TOPIC lists a chapter, attest spec ID prints an item; spec/README.md says where to begin.\n");
}

void print_chapter(const SpecChapter& chapter) {
  fmt::print("{}\n{}\n\n", chapter.title, chapter.place.path);
  for (const SpecItem& item : chapter.items) {
    fmt::print("  {:<8} {}{}\n", item.id, item.title, item.level.empty() ? "" : "  [" + item.level + "]");
  }
}

void print_places(const std::string& kind, const std::vector<SpecPlace>& places) {
  for (const SpecPlace& place : places) fmt::print("{:<6} {}\n", kind, text_of(place));
}

void print_item(const std::filesystem::path& root, const SpecItem& item) {
  fmt::print("{}  {}\n", item.id, item.title);
  if (!item.text.empty()) fmt::print("\n{}\n", item.text);
  fmt::print("\n");
  if (!item.level.empty()) fmt::print("level  {}\n", item.level);
  const SpecPlaces places = places_of(root, item.id);
  print_places("spec", {item.place});
  print_places("code", places.code);
  print_places("test", places.tests);
  print_places("note", places.notes);
  print_places("proof", places.proofs);
}

}  // namespace

int run_spec(const SpecOptions& options) {
  const std::filesystem::path root = options.root.empty() ? default_root() : std::filesystem::path(options.root);
  const std::vector<SpecChapter> chapters = read_specification(root);
  const std::string id = spelled(options.id);
  if (id.empty()) {
    print_chapters(chapters);
    return 0;
  }
  for (const SpecChapter& chapter : chapters) {
    if (chapter.topic == id) {
      print_chapter(chapter);
      return 0;
    }
    const auto item = std::ranges::find(chapter.items, id, &SpecItem::id);
    if (item != chapter.items.end()) {
      print_item(root, *item);
      return 0;
    }
  }
  require(false, "CAS.C7", "ID: an item or a topic of the specification, got \"{}\"; the nearest are {}", options.id,
          fmt::join(nearest_ids(chapters, id, suggestions), ", "));
  return 0;
}

}  // namespace attest
