#pragma once
/// The specification as data: chapters and their items, read from the pages of spec/, with the places of function,
/// test, note and theorem from its status page.

#include <filesystem>
#include <string>
#include <vector>

namespace attest {

/// Where something of an item is: a path relative to the root, its line if the file is there, and a name, if any.
struct SpecPlace {
  std::string path;
  std::size_t line = 0;  ///< 0: unknown
  std::string name = {};
};

/// An item of the specification.
struct SpecItem {
  std::string id;
  std::string title;
  SpecPlace place;
  std::string level;  ///< of a property; otherwise empty
  std::string text;   ///< as the page has it, without heading and fields
};

struct SpecChapter {
  std::string title;  ///< "04 Softmax (SMX)"
  std::string topic;  ///< "SMX"; empty where there is none
  SpecPlace place;
  std::vector<SpecItem> items;
};

/// What belongs to an item outside the specification.
struct SpecPlaces {
  std::vector<SpecPlace> code, tests, notes, proofs;
};

/// The chapters of root/spec in the order of their numbers. Refuses a folder without chapters: CAS.C16.
std::vector<SpecChapter> read_specification(const std::filesystem::path& root);

/// The row of the item in root/spec/status.md; empty lists where the page or the row is missing.
SpecPlaces places_of(const std::filesystem::path& root, const std::string& id);

/// The ids most like a text, by the fewest letters to change; ties in the order of the pages.
std::vector<std::string> nearest_ids(const std::vector<SpecChapter>& chapters, const std::string& text,
                                     std::size_t count);

}  // namespace attest
