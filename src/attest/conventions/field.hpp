#pragma once
/// Chapter 20 (CNV): a field of a record as text: how it is read, which texts it takes, how it is printed.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attest/conventions/text.hpp"

namespace attest {

/// A field of the record: its key, which texts it takes, how it is read from one (false: inadmissible) and printed.
template <class Record>
struct Field {
  std::string key;
  std::string admissible;
  std::function<bool(Record&, const std::string&)> read;
  std::function<std::string(const Record&)> print;
};

template <class Value>
struct Name {
  std::string text;
  Value value;
};

template <class Value>
using Names = std::vector<Name<Value>>;

/// A field that takes one of a few names.
template <class Value, class Record>
Field<Record> named(const std::string& key, Value Record::*member, const Names<Value>& names) {
  std::vector<std::string> texts;
  for (const auto& name : names) texts.push_back(name.text);
  return {key, fmt::format("one of {}", fmt::join(texts, ", ")),
          [=](Record& record, const std::string& text) {
            const auto found = std::ranges::find(names, text, &Name<Value>::text);
            if (found == names.end()) return false;
            record.*member = found->value;
            return true;
          },
          [=](const Record& record) { return std::ranges::find(names, record.*member, &Name<Value>::value)->text; }};
}

template <class Record>
Field<Record> boolean(const std::string& key, bool Record::*member) {
  return named<bool>(key, member, {{"true", true}, {"false", false}});
}

/// A field that takes a number, or `absent` for none. `parse` gives nullopt for what is no admissible number.
template <class Number, class Record>
Field<Record> optional(const std::string& key, std::optional<Number> Record::*member, const std::string& absent,
                       const std::string& admissible,
                       const std::function<std::optional<Number>(const std::string&)>& parse) {
  return {key, fmt::format("{} or {}", absent, admissible),
          [=](Record& record, const std::string& text) {
            const std::optional<Number> value = parse(text);
            if (!value && text != absent) return false;
            record.*member = value;
            return true;
          },
          [=](const Record& record) { return record.*member ? fmt::format("{}", *(record.*member)) : absent; }};
}

template <class Record>
Field<Record> number(const std::string& key, std::optional<double> Record::*member, const std::string& absent,
                     const std::string& admissible, bool (*holds)(double)) {
  return optional<double>(key, member, absent, admissible, [=](const std::string& text) {
    const std::optional<double> value = number_from(text);
    return value && holds(*value) ? value : std::nullopt;
  });
}

template <class Record>
Field<Record> count(const std::string& key, std::optional<long> Record::*member) {
  return optional<long>(key, member, "none", "an integer of at least 0", [](const std::string& text) {
    const std::optional<std::int64_t> value = integer_from(text);
    return value && *value >= 0 ? std::optional<long>(*value) : std::nullopt;
  });
}

template <class Record>
Field<Record> text(const std::string& key, std::string Record::*member) {
  return {key, "a text of 1 to 1024 printable ASCII characters",  // it is printed, and written to files
          [=](Record& record, const std::string& value) {
            record.*member = value;
            const auto printable = [](char c) { return c >= 0x20 && c < 0x7f; };
            return !value.empty() && value.size() <= 1024 && std::ranges::all_of(value, printable);
          },
          [=](const Record& record) { return record.*member; }};
}

}  // namespace attest
