#include "attest/files/safetensors_header.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attest/scalar/error.hpp"

namespace attest {

namespace {

constexpr std::size_t longest_text = 1024;
constexpr std::size_t most_axes = 16;
constexpr std::string_view metadata_key = "__metadata__";

/// {"name": {"dtype": text, "shape": [n, ...], "data_offsets": [n, n]}, ..., "__metadata__": {"key": text, ...}}
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  SafetensorsHeader header;

  bool start_object(std::size_t) override {
    expect(depth_ < 2 && !list_, "no object");
    ++depth_;
    return true;
  }

  bool end_object() override {
    if (depth_ == 2 && !in_metadata()) require_complete();
    --depth_;
    return true;
  }

  bool key(std::string& text) override {
    require_printable(text);
    (depth_ == 1 ? name_ : field_) = text;
    expect(depth_ == 1 ? is_new_name() : !in_metadata() || !header.metadata.contains(field_), "the key only once");
    return true;
  }

  bool string(std::string& text) override {
    require_printable(text);
    expect(depth_ == 2 && !list_ && (in_metadata() || field_ == "dtype"), "no text");
    if (in_metadata()) {
      header.metadata.emplace(field_, text);
    } else {
      set_once(entry().dtype, text);
    }
    return true;
  }

  bool start_array(std::size_t) override {
    expect(depth_ == 2 && !list_ && !in_metadata() && (field_ == "shape" || field_ == "data_offsets"), "no list");
    list_ = &set_once(field_ == "shape" ? entry().shape : entry().data_offsets, Shape());
    return true;
  }

  bool number_unsigned(std::uint64_t number) override {
    expect(list_ != nullptr, "no number");
    expect(list_->size() < most_axes, "at most 16 numbers");
    list_->push_back(number);
    return true;
  }

  bool end_array() override {
    list_ = nullptr;
    return true;
  }

  bool null() override { return refuse("no null"); }
  bool boolean(bool) override { return refuse("no true or false"); }
  bool number_integer(std::int64_t) override { return refuse("no negative number"); }
  bool number_float(double, const std::string&) override { return refuse("no fraction"); }
  bool binary(nlohmann::json::binary_t&) override { return refuse("no binary data"); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    require(false, "CAS.C2", "header: valid JSON, which it is not at byte {}", position);
    return false;
  }

 private:
  int depth_ = 0;
  std::string name_;
  std::string field_;
  Shape* list_ = nullptr;  ///< the list being read
  bool has_metadata_ = false;

  bool in_metadata() const { return name_ == metadata_key; }
  HeaderEntry& entry() { return header.entries.at(name_); }

  /// The innermost key being read, for messages.
  std::string where() const {
    if (depth_ < 2) return name_.empty() ? "header" : name_;
    return field_.empty() ? name_ : name_ + "." + field_;
  }

  void expect(bool condition, std::string_view what) const {
    require(condition, "CAS.C2", "{}: {} here", where(), what);
  }

  bool refuse(std::string_view what) const {
    expect(false, what);
    return false;
  }

  bool is_new_name() {
    field_.clear();
    if (in_metadata()) return !std::exchange(has_metadata_, true);
    return header.entries.try_emplace(name_).second;
  }

  template <class T>
  T& set_once(std::optional<T>& slot, const T& value) {
    expect(!slot, "the key only once");
    return slot.emplace(value);
  }

  void require_complete() const {
    const HeaderEntry& read = header.entries.at(name_);
    require(read.dtype && read.shape && read.data_offsets, "CAS.C2", "{}: dtype, shape and data_offsets, all three",
            name_);
    require(read.data_offsets->size() == 2, "CAS.C2", "{}.data_offsets: two numbers, got {}", name_,
            read.data_offsets->size());
  }

  /// Without this a file could write more than one line to a terminal, or its escape sequences.
  void require_printable(const std::string& text) const {
    const bool printable = std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    require(printable && text.size() <= longest_text, "CAS.C2",
            "{}: names and texts have at most 1024 bytes and no control characters", where());
  }
};

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view text) {
  require(text.starts_with('{'), "CAS.C2", "header: a JSON object, which begins with a brace");
  // the parser takes a zero byte for the end of its input, and would not see what follows
  require(text.find('\0') == std::string_view::npos, "CAS.C2", "header: JSON text without zero bytes");
  HeaderReader reader;
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  return std::move(reader.header);
}

}  // namespace attest
