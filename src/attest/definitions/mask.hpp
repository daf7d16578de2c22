#pragma once
/// Chapter 03 (MSK): which keys a query sees. A visible set is a formula of (i, j); true = visible. Masks combine by
/// intersection. A hidden key is absent: nothing downstream multiplies it by zero or gives it a large negative score.

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "attest/definitions/problem.hpp"
#include "attest/tensor/tensor.hpp"

namespace attest {

/// MSK.D1  causal(i, j) = (j <= i + offset)
bool causal(std::int64_t i, std::int64_t j, std::int64_t offset);

/// MSK.D2  window(i, j) = (p - left <= j <= p + right) with p = i + offset; an absent side is unbounded.
bool window(std::int64_t i, std::int64_t j, std::int64_t offset, std::optional<std::int64_t> left,
            std::optional<std::int64_t> right);

/// MSK.D3  within_length(j) = (j < length): padding lies at the end.
bool within_length(std::int64_t j, std::int64_t length);

/// MSK.D4  prefix(j) = (j < length): a prefix that a causal mask leaves visible to every query.
bool prefix(std::int64_t j, std::int64_t length);

/// MSK.D5  same_document(a, b) = (a = b), of the documents that query i and key j belong to.
bool same_document(std::int64_t query_document, std::int64_t key_document);

/// MSK.D6  visible_entry(t)_bhij: the entry of a boolean tensor, broadcast along axes of extent 1.
bool visible_entry(const Tensor<bool>& visible, std::size_t b, std::size_t h, std::size_t i, std::size_t j);

/// MSK.D7  all_of(a, b, ...): the intersection; the empty intersection sees everything.
bool all_of(std::initializer_list<bool> visible);

/// MSK.D8  causal_mask(s)_ij = 0 if j <= i, -infinity otherwise: the additive form, for the textbook equation.
Matrix<double> causal_mask(std::size_t s);

/// MSK.D9  visible_from_hidden(h) = not h: from the polarity in which true means "ignore".
Tensor<bool> visible_from_hidden(const Tensor<bool>& hidden);

/// MSK.D10  visible_from_ones(m) = (m = 1): from a mask of ones and zeros. Refuses other numbers: MSK.C2.
Tensor<bool> visible_from_ones(const Tensor<double>& ones);

/// MSK.D11  visible_from_additive(b) = (b > -infinity). Refuses NaN and +infinity: MSK.C1.
Tensor<bool> visible_from_additive(const Tensor<double>& bias);

/// MSK.D12  offset_of(b): what places query i of batch entry b at p = i + offset among the keys.
std::int64_t offset_of(const Problem& problem, std::size_t b);

/// One rule of MSK.D13 at one key. A rule whose input is absent is left out: it has no say.
struct MaskRule {
  std::string_view id;        ///< of its formula
  std::string_view input;     ///< the key of the call or the tensor that it reads
  std::optional<bool> shows;  ///< whether it lets the key through
};

/// MSK.D13, rule by rule, in the order of the chapter.
std::array<MaskRule, 8> mask_rules(const Problem& problem, std::size_t b, std::size_t h, std::size_t i, std::size_t j);

/// MSK.D13  is_visible(b, h, i, j): the intersection of every mask the call has. Queries and keys beyond their lengths
/// see and are seen by nothing.
bool is_visible(const Problem& problem, std::size_t b, std::size_t h, std::size_t i, std::size_t j);

/// MSK.D14  visible_keys(row): the indices of the visible keys, in increasing order.
std::vector<std::size_t> visible_keys(Row<bool> visible);

/// MSK.D15  not_padding(b, j): whether key j of batch entry b is there, by a mask of its own for each batch entry.
bool not_padding(const Matrix<bool>& key_padding, std::size_t b, std::size_t j);

/// Refuses NaN and +infinity in an additive mask: MSK.C1.
void require_additive(const Tensor<double>& bias);

}  // namespace attest
