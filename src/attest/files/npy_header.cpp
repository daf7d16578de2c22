#include "attest/files/npy_header.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "attest/scalar/error.hpp"

namespace attest {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t version_bytes = 2;
constexpr std::size_t longest_dictionary = 10'000;  // numpy's own limit for files that are not trusted
constexpr std::size_t longest_text = 64;  // a type of plain elements is shorter, and structured ones are refused
constexpr std::size_t most_axes = 16;
constexpr std::size_t data_alignment = 64;

/// The dictionary, a literal of Python, token by token. There is no nesting, so nothing to recurse into.
class DictionaryReader {
 public:
  DictionaryReader(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  NpyHeader read() {
    expect('{');
    while (!accept('}')) {
      read_entry();
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    require_form(at_ == text_.size(), "nothing after the dictionary");
    require(descr_ && fortran_order_ && shape_, "CAS.C18", "{}: header: descr, fortran_order and shape, all three",
            file_);
    return {*descr_, *fortran_order_, *shape_, 0};
  }

 private:
  std::string_view text_;
  std::string_view file_;
  std::size_t at_ = 0;
  std::optional<std::string> descr_;
  std::optional<bool> fortran_order_;
  std::optional<Shape> shape_;

  void require_form(bool holds, std::string_view due) const {
    require(holds, "CAS.C18", "{}: header: {}, at byte {} of it", file_, due, at_);
  }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }

  bool accept(std::string_view token) {
    skip_space();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  bool accept(char token) { return accept(std::string_view(&token, 1)); }

  void expect(char token) { require_form(accept(token), fmt::format("a {}", token)); }

  void read_entry() {
    const std::string key = read_text();
    expect(':');
    if (key == "descr") {
      set_once(descr_, read_text());
    } else if (key == "fortran_order") {
      set_once(fortran_order_, read_bool());
    } else if (key == "shape") {
      set_once(shape_, read_shape());
    } else {
      require_form(false, "no keys but descr, fortran_order and shape");
    }
  }

  template <class T>
  void set_once(std::optional<T>& slot, T value) {
    require_form(!slot, "each key only once");
    slot.emplace(std::move(value));
  }

  /// Between quotes of either kind; without escapes, which no type needs.
  std::string read_text() {
    skip_space();
    require_form(at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"'), "a text in quotes");
    const char quote = text_[at_++];
    const std::string_view rest = text_.substr(at_, longest_text + 1);
    const std::size_t length = rest.find(quote);
    require_form(length != std::string_view::npos, "a text of at most 64 characters");
    const std::string_view found = rest.substr(0, length);
    require_form(std::ranges::all_of(found, [](char c) { return ' ' <= c && c <= '~' && c != '\\'; }),
                 "a text of plain characters");
    at_ += length + 1;
    return std::string(found);
  }

  bool read_bool() {
    const bool is_true = accept("True");
    require_form(is_true || accept("False"), "True or False");
    return is_true;
  }

  /// () or (n,) or (n, m) or (n, m,): as in Python, (n) would be a number.
  Shape read_shape() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      require_form(shape.size() < most_axes, "at most 16 extents");
      shape.push_back(read_extent());
      if (accept(',')) continue;
      require_form(shape.size() != 1, "a comma, without which this is no shape");
      expect(')');
      break;
    }
    return shape;
  }

  std::size_t read_extent() {
    skip_space();
    std::size_t extent = 0;
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), extent);
    require_form(error == std::errc(), "an extent of at most 64 bits");
    at_ += static_cast<std::size_t>(end - begin);
    return extent;
  }
};

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t little_endian(std::string_view bytes) {
  std::size_t number = 0;
  for (std::size_t n = bytes.size(); n-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[n]);
  return number;
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> content, std::string_view file) {
  const std::string_view text = as_text(content.first(std::min(content.size(), magic.size() + 6 + longest_dictionary)));
  require(text.starts_with(magic), "CAS.C18", "{}: an .npy file, which begins with \\x93NUMPY", file);
  const std::size_t major = text.size() > magic.size() ? static_cast<unsigned char>(text[magic.size()]) : 0;
  require(1 <= major && major <= 3, "CAS.C18", "{}: version 1, 2 or 3 of the .npy format, got {}", file, major);
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::size_t begin = magic.size() + version_bytes + length_bytes;
  require(text.size() >= begin, "CAS.C18", "{}: a header, and the file ends in its length", file);
  const std::size_t length = little_endian(text.substr(begin - length_bytes, length_bytes));
  const std::size_t most = std::min(longest_dictionary, content.size() - begin);
  require(length <= most, "CAS.C18", "{}: a header of at most {} bytes, got {}", file, most, length);
  NpyHeader header = DictionaryReader(text.substr(begin, length), file).read();
  header.bytes = begin + length;
  return header;
}

std::string format_npy_header(std::string_view descr, const Shape& shape) {
  std::string extents;
  for (const std::size_t extent : shape) extents += fmt::format("{}, ", extent);
  std::string dictionary = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, extents);
  const std::size_t begin = magic.size() + version_bytes + 2;
  const std::size_t whole = (begin + dictionary.size() + 1 + data_alignment - 1) / data_alignment * data_alignment;
  dictionary.resize(whole - begin - 1, ' ');
  dictionary += '\n';
  const auto byte = [&](std::size_t n) { return static_cast<char>(dictionary.size() >> 8 * n & 0xff); };
  return std::string(magic) + '\1' + '\0' + byte(0) + byte(1) + dictionary;
}

}  // namespace attest
