#include "attest/files/specification.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>

#include "attest/files/whole_file.hpp"
#include "attest/scalar/error.hpp"

namespace attest {

namespace {

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_whole(path);
  std::vector<std::string> lines(1);
  for (const std::byte byte : bytes) {
    const char c = static_cast<char>(byte);
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  return lines;
}

bool is_id(std::string_view text) {
  const auto upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return text.size() >= 6 && std::all_of(text.begin(), text.begin() + 3, upper) && text[3] == '.' &&
         std::string_view("DCPBE").find(text[4]) != std::string_view::npos &&
         std::all_of(text.begin() + 5, text.end(), digit);
}

/// The id and title of "### SMX.D2 Softmax".
std::optional<std::pair<std::string, std::string>> item_heading(const std::string& line) {
  if (!line.starts_with("### ")) return std::nullopt;
  const std::size_t space = line.find(' ', 4);
  if (space == std::string::npos || !is_id(line.substr(4, space - 4))) return std::nullopt;
  return std::pair(line.substr(4, space - 4), line.substr(space + 1));
}

/// The value of "**level** value", or nothing.
std::optional<std::string> field(const std::string& line, const std::string& name) {
  const std::string mark = "**" + name + "** ";
  return line.starts_with(mark) ? std::optional(line.substr(mark.size())) : std::nullopt;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of('\n');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of('\n') - first + 1);
}

/// A page, with its items: each reaches to the next heading outside a fenced block.
SpecChapter read_chapter(const std::filesystem::path& root, const std::string& name) {
  SpecChapter chapter{{}, {}, {"spec/" + name, 1}, {}};
  bool fenced = false, within = false;
  const std::vector<std::string> lines = lines_of(root / "spec" / name);
  for (std::size_t n = 0; n < lines.size(); ++n) {
    const std::string& line = lines[n];
    if (line.starts_with("```")) fenced = !fenced;
    const bool heading = !fenced && line.starts_with("#");
    if (heading && line.starts_with("# ")) chapter.title = line.substr(2);
    if (heading) within = false;
    if (const auto item = heading ? item_heading(line) : std::nullopt) {
      within = true;
      chapter.items.push_back({item->first, item->second, {chapter.place.path, n + 1}, {}, {}});
      continue;
    }
    if (!within) continue;
    if (const auto level = field(line, "level")) {
      chapter.items.back().level = *level;
    } else if (!field(line, "code") && !field(line, "proved")) {
      chapter.items.back().text += line + "\n";
    }
  }
  for (SpecItem& item : chapter.items) item.text = trimmed(item.text);
  if (!chapter.items.empty()) chapter.topic = chapter.items.front().id.substr(0, 3);
  return chapter;
}

/// The number of the first line that holds the text; 0 if there is no such file or line.
std::size_t line_with(const std::filesystem::path& path, const std::vector<std::string>& texts) {
  if (!std::filesystem::is_regular_file(path)) return 0;
  const std::vector<std::string> lines = lines_of(path);
  const auto found = std::ranges::find_if(lines, [&](const std::string& line) {
    return std::ranges::any_of(texts, [&](const std::string& text) {
      const std::size_t at = line.find(text);
      return at != std::string::npos && (at + text.size() == line.size() || !std::isdigit(line[at + text.size()]));
    });
  });
  return found == lines.end() ? 0 : static_cast<std::size_t>(found - lines.begin()) + 1;
}

/// The cells of a row of a Markdown table; "\|" is no border.
std::vector<std::string> cells_of(const std::string& row) {
  std::vector<std::string> cells;
  std::string cell;
  for (std::size_t n = 1; n < row.size(); ++n) {
    if (row[n] == '|' && row[n - 1] != '\\') {
      cells.push_back(cell);
      cell.clear();
    } else {
      cell += row[n];
    }
  }
  return cells;
}

/// The links of a cell, "[text](../path) `name`", each with the name behind it.
std::vector<SpecPlace> links_of(const std::string& cell) {
  constexpr std::string_view mark = "](../";
  std::vector<SpecPlace> places;
  for (std::size_t at = cell.find(mark); at != std::string::npos; at = cell.find(mark, at)) {
    at += mark.size();
    const std::size_t end = std::min(cell.find(')', at), cell.size());
    SpecPlace place{cell.substr(at, end - at)};
    const std::size_t next = std::min(cell.find("<br>", end), cell.size());
    const std::size_t quote = cell.find('`', end);
    if (quote < next) place.name = cell.substr(quote + 1, cell.find('`', quote + 1) - quote - 1);
    places.push_back(std::move(place));
  }
  return places;
}

/// The fewest letters to insert, delete or replace between two texts (Levenshtein).
std::size_t edits_between(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t(0));
  for (std::size_t m = 0; m < a.size(); ++m) {
    std::size_t diagonal = row[0];
    row[0] = m + 1;
    for (std::size_t n = 0; n < b.size(); ++n) {
      const std::size_t replaced = diagonal + (a[m] == b[n] ? 0 : 1);
      diagonal = row[n + 1];
      row[n + 1] = std::min({replaced, row[n] + 1, row[n + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<SpecChapter> read_specification(const std::filesystem::path& root) {
  std::vector<std::string> names;
  if (std::filesystem::is_directory(root / "spec")) {
    for (const auto& entry : std::filesystem::directory_iterator(root / "spec")) {
      const std::string name = entry.path().filename().string();
      const bool other = name == "README.md" || name == "status.md" || name == "properties.md" || name == "retired.md";
      if (name.ends_with(".md") && !other) names.push_back(name);
    }
  }
  require(!names.empty(), "CAS.C16", "--root: no chapters in \"{}\"", (root / "spec").string());
  std::ranges::sort(names);
  std::vector<SpecChapter> chapters;
  for (const std::string& name : names) chapters.push_back(read_chapter(root, name));
  return chapters;
}

SpecPlaces places_of(const std::filesystem::path& root, const std::string& id) {
  if (!std::filesystem::is_regular_file(root / "spec/status.md")) return {};
  for (const std::string& line : lines_of(root / "spec/status.md")) {
    if (!line.starts_with("| " + id + " |")) continue;
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() < 7) return {};
    SpecPlaces places{links_of(cells[3]), links_of(cells[4]), links_of(cells[5]), links_of(cells[6])};
    for (SpecPlace& place : places.code) place.line = line_with(root / place.path, {"/// " + id, "\"" + id});
    std::string name = id;
    name[3] = '_';
    for (SpecPlace& place : places.tests) {
      place.line = line_with(root / place.path, {"PROPERTY(" + name, "CONSTRAINT(" + name, "EXAMPLE(" + name});
    }
    for (SpecPlace& place : places.proofs) {
      place.line = line_with(root / place.path, {"Theorem " + place.name, "Corollary " + place.name});
    }
    return places;
  }
  return {};
}

std::vector<std::string> nearest_ids(const std::vector<SpecChapter>& chapters, const std::string& text,
                                     std::size_t count) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const SpecChapter& chapter : chapters) {
    for (const SpecItem& item : chapter.items) ranked.emplace_back(edits_between(text, item.id), item.id);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> ids;
  for (std::size_t n = 0; n < std::min(count, ranked.size()); ++n) ids.push_back(ranked[n].second);
  return ids;
}

}  // namespace attest
