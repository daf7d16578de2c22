#pragma once
/// A page of text for people: headings, lines with an id in the margin, tables. At most 100 columns where words allow.

#include <string>
#include <string_view>
#include <vector>

namespace attest {

/// A table: a name and an id at the head of each column; the first column is aligned at its right. A row of fewer
/// cells than columns leaves the rest empty.
struct PageTable {
  std::vector<std::string> names;
  std::vector<std::string> ids;
  std::vector<std::vector<std::string>> rows;

  void add_column(std::string name, std::string id = {});
  void leave_out(std::size_t count);  ///< says that so many rows are not shown
};

class Page {
 public:
  void heading(std::string_view text);
  /// Text that belongs to an item of the specification; it goes on below itself where it is long.
  void line(std::string_view id, std::string_view text);
  void table(const PageTable& table);

  const std::string& text() const { return text_; }

 private:
  void end_table();
  std::string text_;
  bool after_table_ = false;
};

/// Indices as ranges, "0..5, 7, 9..12"; a long list is cut in the middle.
std::string ranges(const std::vector<std::size_t>& indices);

/// "key 2" or "keys 0..2, 5": what they are, and which.
std::string counted(std::string_view what, const std::vector<std::size_t>& indices);

/// Which of n rows a table shows: all of a short one, else the first and the last few and, whatever it is, `kept`.
std::vector<std::size_t> shown_rows(std::size_t n, std::size_t kept);

/// The text with control characters written as \\xNN: one line, whatever a file or a path has put into it.
std::string printable(std::string_view text);

}  // namespace attest
