#include "attest/definitions/mask.hpp"

#include <algorithm>
#include <limits>

namespace attest {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor<bool> map_to_bool(const auto& tensor, auto&& f) {
  Tensor<bool> result = Tensor<bool>::from_shape(tensor.shape());
  std::transform(tensor.begin(), tensor.end(), result.begin(), f);
  return result;
}

/// The number of others that a window's side spans: a count of W that includes the query's own key leaves W - 1.
std::optional<std::int64_t> others(std::optional<long> side, WindowCounts counts) {
  if (!side) return std::nullopt;
  return counts == WindowCounts::self_too ? *side - 1 : *side;
}

std::int64_t length_or(const std::optional<Vector<std::int64_t>>& lengths, std::size_t b, std::size_t extent) {
  return lengths ? (*lengths)(b) : static_cast<std::int64_t>(extent);
}

}  // namespace

bool causal(std::int64_t i, std::int64_t j, std::int64_t offset) { return j <= i + offset; }

bool window(std::int64_t i, std::int64_t j, std::int64_t offset, std::optional<std::int64_t> left,
            std::optional<std::int64_t> right) {
  const std::int64_t p = i + offset;
  return (!left || p - *left <= j) && (!right || j <= p + *right);
}

bool within_length(std::int64_t j, std::int64_t length) { return j < length; }

bool prefix(std::int64_t j, std::int64_t length) { return j < length; }

bool same_document(std::int64_t query_document, std::int64_t key_document) { return query_document == key_document; }

bool visible_entry(const Tensor<bool>& visible, std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
  return broadcast_at(visible, b, h, i, j);
}

bool all_of(std::initializer_list<bool> visible) {
  return std::ranges::all_of(visible, [](bool v) { return v; });
}

Matrix<double> causal_mask(std::size_t s) {
  return tabulate(s, s, [](std::size_t i, std::size_t j) { return j <= i ? 0.0 : -infinity; });
}

Tensor<bool> visible_from_hidden(const Tensor<bool>& hidden) {
  return map_to_bool(hidden, [](bool h) { return !h; });
}

Tensor<bool> visible_from_ones(const Tensor<double>& ones) {
  for (const double m : ones) require(m == 0 || m == 1, "MSK.C2", "a 1/0 mask holds only 0 and 1, got {}", m);
  return map_to_bool(ones, [](double m) { return m == 1; });
}

Tensor<bool> visible_from_additive(const Tensor<double>& bias) {
  require_additive(bias);
  return map_to_bool(bias, [](double b) { return b > -infinity; });
}

void require_additive(const Tensor<double>& bias) {
  for (const double b : bias)
    require(b < infinity, "MSK.C1", "an additive mask has neither NaN nor +infinity, got {}", b);
}

bool not_padding(const Matrix<bool>& key_padding, std::size_t b, std::size_t j) { return key_padding(b, j); }

std::int64_t offset_of(const Problem& problem, std::size_t b) {
  const Inputs& in = problem.inputs;
  const Extents n = extents(in);
  switch (problem.call.alignment) {
    case Alignment::top_left: return 0;
    case Alignment::bottom_right_padded:
      return static_cast<std::int64_t>(n.keys) - static_cast<std::int64_t>(n.queries);
    case Alignment::bottom_right_actual:
      return length_or(in.k_lengths, b, n.keys) - length_or(in.q_lengths, b, n.queries);
    case Alignment::after_past: return static_cast<std::int64_t>(in.past);
    case Alignment::offsets: return (*in.offsets)(b);
  }
  return 0;
}

std::array<MaskRule, 8> mask_rules(const Problem& problem, std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
  using Shows = std::optional<bool>;
  const Call& call = problem.call;
  const Inputs& in = problem.inputs;
  const auto row = static_cast<std::int64_t>(i);
  const auto key = static_cast<std::int64_t>(j);
  const std::int64_t offset = offset_of(problem, b);
  const auto left = others(call.window_left, call.window_counts);
  const auto right = others(call.window_right, call.window_counts);
  const auto opened = [&] { return in.prefix_lengths && prefix(key, (*in.prefix_lengths)(b)); };
  const auto documents = [&] { return same_document((*in.document_q)(b, i), (*in.document_k)(b, j)); };
  const auto unmasked = [&] { return broadcast_at(*in.bias, b, h, i, j) > -infinity; };
  return {{{"MSK.D1", "causal", call.causal ? Shows(causal(row, key, offset) || opened()) : Shows()},
           {"MSK.D2", "window", left || right ? Shows(window(row, key, offset, left, right)) : Shows()},
           {"MSK.D3", "q_lengths", in.q_lengths ? Shows(within_length(row, (*in.q_lengths)(b))) : Shows()},
           {"MSK.D3", "k_lengths", in.k_lengths ? Shows(within_length(key, (*in.k_lengths)(b))) : Shows()},
           {"MSK.D5", "document_q and document_k", in.document_q ? Shows(documents()) : Shows()},
           {"MSK.D15", "key_padding", in.key_padding ? Shows(not_padding(*in.key_padding, b, j)) : Shows()},
           {"MSK.D6", "visible", in.visible ? Shows(visible_entry(*in.visible, b, h, i, j)) : Shows()},
           {"MSK.D11", "bias", in.bias ? Shows(unmasked()) : Shows()}}};
}

bool is_visible(const Problem& problem, std::size_t b, std::size_t h, std::size_t i, std::size_t j) {
  bool visible = all_of({});
  for (const MaskRule& rule : mask_rules(problem, b, h, i, j)) visible = all_of({visible, rule.shows.value_or(true)});
  return visible;
}

std::vector<std::size_t> visible_keys(Row<bool> visible) {
  std::vector<std::size_t> keys;
  for (std::size_t j = 0; j < visible.size(); ++j) {
    if (visible[j]) keys.push_back(j);
  }
  return keys;
}

}  // namespace attest
