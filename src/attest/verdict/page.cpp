#include "attest/verdict/page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace attest {

namespace {

constexpr std::size_t columns = 100;
constexpr std::size_t margin = 11;  // two spaces, an id, and at least one space more
constexpr std::size_t all_rows = 12;
constexpr std::size_t first_rows = 6;
constexpr std::size_t last_rows = 4;
constexpr std::size_t all_ranges = 6;

/// The text in lines of at most `width`, broken at spaces.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (text.size() > width) {
    std::size_t end = text.rfind(' ', width);
    if (end == std::string_view::npos || end == 0) end = text.find(' ', width);
    if (end == std::string_view::npos) break;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  lines.emplace_back(text);
  return lines;
}

/// A number's sign has a column to itself, so that numbers stand below each other.
std::string with_room_for_a_sign(const std::string& cell) { return cell.starts_with('-') ? cell : " " + cell; }

std::string without_blanks_at_its_end(std::string text) {
  text.resize(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

void PageTable::add_column(std::string name, std::string id) {
  names.push_back(std::move(name));
  ids.push_back(std::move(id));
}

void PageTable::leave_out(std::size_t count) { rows.push_back({"...", fmt::format("{} more", count)}); }

void Page::end_table() {
  if (after_table_) text_ += "\n";
  after_table_ = false;
}

void Page::heading(std::string_view text) {
  after_table_ = false;
  text_ += fmt::format("\n{}\n", text);
}

void Page::line(std::string_view id, std::string_view text) {
  end_table();
  std::string before = fmt::format("  {:<{}}", id, margin - 2);
  for (const std::string& part : wrapped(text, columns - margin)) {
    text_ += before + part + "\n";
    before.assign(margin, ' ');
  }
}

void Page::table(const PageTable& table) {
  std::vector<std::vector<std::string>> rows{table.names, table.ids};
  std::ranges::copy(table.rows, std::back_inserter(rows));
  std::vector<std::size_t> widths(table.names.size(), 0);
  for (std::vector<std::string>& row : rows) {
    for (std::size_t n = 1; n < row.size(); ++n) row[n] = with_room_for_a_sign(row[n]);
    for (std::size_t n = 0; n < row.size(); ++n) widths[n] = std::max(widths[n], row[n].size());
  }
  text_ += "\n";
  for (const std::vector<std::string>& row : rows) {
    std::string text = fmt::format("{:>{}}", row[0], margin - 3 + widths[0]);
    for (std::size_t n = 1; n < row.size(); ++n) text += fmt::format("  {:<{}}", row[n], widths[n]);
    text_ += without_blanks_at_its_end(text) + "\n";
  }
  after_table_ = true;
}

std::string ranges(const std::vector<std::size_t>& indices) {
  std::vector<std::string> parts;
  for (std::size_t n = 0; n < indices.size();) {
    std::size_t last = n;
    while (last + 1 < indices.size() && indices[last + 1] == indices[last] + 1) ++last;
    const std::string first = fmt::format("{}", indices[n]);
    parts.push_back(last == n ? first : fmt::format("{}{}{}", first, last == n + 1 ? ", " : "..", indices[last]));
    n = last + 1;
  }
  if (parts.size() <= all_ranges) return fmt::format("{}", fmt::join(parts, ", "));
  const auto head = parts.begin() + all_ranges - 2;
  return fmt::format("{}, ..., {}", fmt::join(parts.begin(), head, ", "), parts.back());
}

std::string counted(std::string_view what, const std::vector<std::size_t>& indices) {
  return fmt::format("{}{} {}", what, indices.size() == 1 ? "" : "s", ranges(indices));
}

std::vector<std::size_t> shown_rows(std::size_t n, std::size_t kept) {
  std::vector<std::size_t> shown;
  for (std::size_t row = 0; row < n; ++row) {
    if (n <= all_rows || row < first_rows || row + last_rows >= n || row == kept) shown.push_back(row);
  }
  return shown;
}

std::string printable(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool plain = static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    line += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return line;
}

}  // namespace attest
