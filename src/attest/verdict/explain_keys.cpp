#include "attest/verdict/explain_keys.hpp"

#include <fmt/format.h>

#include "attest/definitions/attention.hpp"
#include "attest/definitions/mask.hpp"
#include "attest/verdict/page.hpp"

namespace attest {

namespace {

/// The row that is explained.
struct Place {
  const Problem& problem;
  Extents n;
  std::size_t b, h, i;

  const Inputs& inputs() const { return problem.inputs; }
  const Call& call() const { return problem.call; }
  std::int64_t position() const { return static_cast<std::int64_t>(i) + offset_of(problem, b); }
};

std::string_view name_of(Alignment alignment) {
  switch (alignment) {
    case Alignment::top_left: return "top_left";
    case Alignment::bottom_right_padded: return "bottom_right_padded: Sk - Sq";
    case Alignment::bottom_right_actual: return "bottom_right_actual: k_lengths[b] - q_lengths[b]";
    case Alignment::after_past: return "after_past: the cached keys come first";
    case Alignment::offsets: return "given";
  }
  return {};
}

std::string head_line(const Place& at, std::string_view kind, std::string_view symbol, std::size_t heads) {
  const std::size_t head = key_head(at.h, at.n.q_heads, heads, at.call().head_map);
  if (at.call().head_map == HeadMap::tiled) {
    return fmt::format("{} head = h mod {} = {} mod {} = {} (tiled)", kind, symbol, at.h, heads, head);
  }
  return fmt::format("{} head = floor(h / (Hq / {})) = floor({} / ({} / {})) = {} (grouped)", kind, symbol, at.h,
                     at.n.q_heads, heads, head);
}

std::string causal_text(const Place& at) {
  const std::string rule = fmt::format("causal: j <= p = {}", at.position());
  if (!at.inputs().prefix_lengths) return rule;
  return fmt::format("{}, or by MSK.D4 prefix: j < {}", rule, (*at.inputs().prefix_lengths)(at.b));
}

/// The window as far as each side of it reaches from p.
std::string window_text(const Place& at) {
  const long self = at.call().window_counts == WindowCounts::self_too ? 1 : 0;
  std::string text = "window:";
  if (const auto left = at.call().window_left) text += fmt::format(" {} <=", at.position() - (*left - self));
  text += " j";
  if (const auto right = at.call().window_right) text += fmt::format(" <= {}", at.position() + (*right - self));
  return text;
}

/// What a rule asks of key j, with the numbers of this row put in.
std::string rule_text(const Place& at, const MaskRule& rule) {
  const Inputs& in = at.inputs();
  if (rule.input == "causal") return causal_text(at);
  if (rule.input == "window") return window_text(at);
  if (rule.input == "q_lengths") return fmt::format("length of the queries: {} < {}", at.i, (*in.q_lengths)(at.b));
  if (rule.input == "k_lengths") return fmt::format("length of the keys: j < {}", (*in.k_lengths)(at.b));
  if (rule.input == "key_padding") return "tensor key_padding";
  if (rule.input == "visible") return "tensor visible";
  if (rule.input == "bias") return "bias above -infinity";
  return fmt::format("same document: document_k[j] = {}", (*in.document_q)(at.b, at.i));
}

std::string keys_text(const std::vector<std::size_t>& keys, std::size_t all) {
  if (keys.empty()) return fmt::format("no key of {}", all);
  if (keys.size() == all) return fmt::format("all {} keys", all);
  return fmt::format("{} of {} keys: {}", keys.size(), all, ranges(keys));
}

void add_rules(Page& page, const Place& at) {
  std::vector<std::vector<std::size_t>> shown(std::tuple_size_v<decltype(mask_rules(at.problem, 0, 0, 0, 0))>);
  for (std::size_t j = 0; j < at.n.keys; ++j) {
    const auto rules = mask_rules(at.problem, at.b, at.h, at.i, j);
    for (std::size_t r = 0; r < rules.size(); ++r) {
      if (rules[r].shows.value_or(false)) shown[r].push_back(j);
    }
  }
  if (at.n.keys == 0) return;
  bool any = false;
  const auto rules = mask_rules(at.problem, at.b, at.h, at.i, 0);
  for (std::size_t r = 0; r < rules.size(); ++r) {
    if (!rules[r].shows) continue;
    any = true;
    page.line(rules[r].id, fmt::format("{}    shows {}", rule_text(at, rules[r]), keys_text(shown[r], at.n.keys)));
  }
  if (!any) page.line("MSK.D13", "no rule hides a key");
}

}  // namespace

std::string explain_keys(const Problem& problem, std::size_t b, std::size_t h, std::size_t i) {
  const Place at{problem, extents(problem.inputs), b, h, i};
  Page page;
  page.heading("which keys");
  page.line("MHA.D1", head_line(at, "key", "Hk", at.n.k_heads));
  page.line("MHA.D1", head_line(at, "value", "Hv", at.n.v_heads));
  const std::int64_t offset = offset_of(problem, b);
  page.line("MSK.D12", fmt::format("offset = {} ({}), so the query stands at p = i + offset = {} + {} = {}", offset,
                                   name_of(problem.call.alignment), i, offset, at.position()));
  add_rules(page, at);
  std::vector<std::size_t> keys;
  for (std::size_t j = 0; j < at.n.keys; ++j) {
    if (is_visible(problem, b, h, i, j)) keys.push_back(j);
  }
  page.line("MSK.D14", fmt::format("visible: {}", keys_text(keys, at.n.keys)));
  return page.text();
}

std::string bias_formula(const Problem& problem, std::size_t b, std::size_t h, std::size_t i) {
  const Inputs& in = problem.inputs;
  const std::string given = in.bias ? "bias_ij" : "";
  if (!in.alibi_slopes) return given;
  const double slope = (*in.alibi_slopes)(in.alibi_slopes->shape(0) == 1 ? 0 : b, h);
  const std::int64_t p = static_cast<std::int64_t>(i) + offset_of(problem, b);
  const std::string slopes = problem.call.alibi_form == AlibiForm::distance ? fmt::format("(-{}) * |{} - j|", slope, p)
                                                                            : fmt::format("{} * (j - {})", slope, p);
  return in.bias ? given + " + " + slopes : slopes;
}

}  // namespace attest
