#pragma once
/// Numbers as a call record spells them: the whole text is the number, or it is none.

#include <cstdint>
#include <optional>
#include <string_view>

namespace attest {

/// A finite decimal ("0.125", "-1e-3") or hexadecimal ("0x1.8p-4") number, as the nearest binary64. Not "nan", "inf", a
/// number out of range, or anything with a character left over. Independent of the locale.
std::optional<double> number_from(std::string_view text);

/// A decimal integer of at most 2^53 in magnitude, so that it is a binary64 and no sum of a few of them overflows.
std::optional<std::int64_t> integer_from(std::string_view text);

}  // namespace attest
