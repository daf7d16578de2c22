#include "attest/files/case_keys.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "attest/scalar/error.hpp"

namespace attest {

namespace {

constexpr std::size_t longest_text = 1024;
constexpr std::string_view dtypes_key = "dtypes";

/// Reads event by event, so that depth is bounded and numbers are seen as they are written.
class KeysReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit KeysReader(std::string_view file) : file_(file) {}

  CaseKeys keys;

  bool start_object(std::size_t) override {
    expect(depth_ == 0 || (depth_ == 1 && key_ == dtypes_key), "no object");
    ++depth_;
    return true;
  }

  bool end_object() override {
    --depth_;
    key_.clear();
    return true;
  }

  bool key(std::string& text) override {
    require_printable(text);
    (depth_ == 1 ? key_ : array_) = text;
    const bool seen = depth_ == 2          ? keys.dtypes.contains(array_)
                      : key_ == dtypes_key ? std::exchange(has_dtypes_, true)
                                           : keys.metadata.contains(key_);
    expect(!seen, "the key only once");
    return true;
  }

  bool string(std::string& text) override {
    require_printable(text);
    return depth_ == 2 ? declare(text) : add(text);
  }

  bool boolean(bool value) override { return add(value ? "true" : "false"); }
  bool number_unsigned(std::uint64_t number) override { return add(std::to_string(number)); }
  bool number_integer(std::int64_t number) override { return add(std::to_string(number)); }
  bool number_float(double, const std::string& digits) override { return add(digits); }

  bool null() override { return refuse("no null"); }
  bool start_array(std::size_t) override { return refuse("no list"); }
  bool end_array() override { return refuse("no list"); }
  bool binary(nlohmann::json::binary_t&) override { return refuse("no binary data"); }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    require(false, "CAS.C21", "{}: valid JSON, its numbers within binary64, which it is not at byte {}", file_,
            position);
    return false;
  }

 private:
  std::string_view file_;
  int depth_ = 0;
  std::string key_;
  std::string array_;  ///< the key inside of dtypes
  bool has_dtypes_ = false;

  bool add(const std::string& value) {
    require_printable(value);
    expect(depth_ > 0, "an object");
    expect(depth_ == 1, "the name of an element type, a text");
    expect(key_ != dtypes_key, "an object");
    return keys.metadata.emplace(key_, value).second;
  }

  bool declare(const std::string& name) {
    const std::optional<Dtype> dtype = dtype_named(name);
    require(dtype.has_value(), "CAS.C19", "{}: {}: a known element type, got {}", file_, where(), name);
    return keys.dtypes.emplace(array_, *dtype).second;
  }

  /// The innermost key being read, for messages.
  std::string where() const {
    if (depth_ == 2) return fmt::format("dtypes.{}", array_);
    return key_.empty() ? "keys" : key_;
  }

  void expect(bool condition, std::string_view what) const {
    require(condition, "CAS.C21", "{}: {}: {} here", file_, where(), what);
  }

  bool refuse(std::string_view what) const {
    expect(false, what);
    return false;
  }

  /// Without this a file could write more than one line to a terminal, or its escape sequences.
  void require_printable(const std::string& text) const {
    const bool printable = std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
    require(printable && text.size() <= longest_text, "CAS.C21",
            "{}: {}: keys and texts have at most 1024 bytes and no control characters", file_, where());
  }
};

}  // namespace

CaseKeys parse_case_keys(std::string_view text, std::string_view file) {
  // the parser takes a zero byte for the end of its input, and would not see what follows
  require(text.find('\0') == std::string_view::npos, "CAS.C21", "{}: JSON text without zero bytes", file);
  KeysReader reader(file);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  return std::move(reader.keys);
}

}  // namespace attest
