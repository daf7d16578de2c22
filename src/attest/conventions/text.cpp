#include "attest/conventions/text.hpp"

#include <charconv>
#include <cmath>

namespace attest {

namespace {

constexpr std::int64_t largest_exact = std::int64_t(1) << 53;

/// The number that the whole text spells, without a sign.
template <class Number, class How>
std::optional<Number> whole(std::string_view text, How how) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, how);
  const bool complete = error == std::errc() && end == text.data() + text.size();
  return complete && !text.starts_with('-') ? std::optional<Number>(value) : std::nullopt;
}

std::optional<double> magnitude_from(std::string_view text) {
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const std::optional<double> value = hexadecimal ? whole<double>(text.substr(2), std::chars_format::hex)
                                                  : whole<double>(text, std::chars_format::general);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace

std::optional<double> number_from(std::string_view text) {
  const bool negative = text.starts_with('-');
  const std::optional<double> magnitude = magnitude_from(negative ? text.substr(1) : text);
  return magnitude && negative ? std::optional<double>(-*magnitude) : magnitude;
}

std::optional<std::int64_t> integer_from(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto magnitude = whole<std::int64_t>(negative ? text.substr(1) : text, 10);
  if (!magnitude || *magnitude > largest_exact) return std::nullopt;
  return negative ? -*magnitude : *magnitude;
}

}  // namespace attest
