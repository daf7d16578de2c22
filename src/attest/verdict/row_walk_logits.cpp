#include <cmath>

#include "attest/verdict/row_walk.hpp"

namespace attest {

std::string RowWalk::logit_formula() const {
  std::string text = bias_at(BiasPosition::inside_scale)     ? "scale * (q . k_j + bias_j)"
                     : bias_at(BiasPosition::before_softcap) ? "score_j + bias_j"
                                                             : "score_j";
  if (head().softcap) text = fmt::format("softcap({})", text);
  return bias_at(BiasPosition::after_softcap) ? text + " + bias_j" : text;
}

void RowWalk::tell_logits() {
  if (keys_.empty()) return;
  page_.heading("from scores to logits");
  const std::string scale = say(head().bias_scale);
  page_.line("ATT.D12", call_.scale ? fmt::format("scale = {}, given", scale)
                                    : fmt::format("scale = 1/sqrt(d) = 1/sqrt({}) = {}", head().keys.shape(1), scale));
  const bool descaled = operands_.given.scale != operands_.given.bias_scale;
  page_.line("ATT.D2",
             descaled
                 ? fmt::format("score_j = scale * delta_q * delta_k * (q . k_j), where scale * delta_q * delta_k = {}",
                               say(head().scale))
                 : "score_j = scale * (q . k_j)");
  if (head().softcap)
    page_.line("ATT.D3", fmt::format("softcap(s) = cap * tanh(s / cap), cap = {}", say(*head().softcap)));
  if (head().bias) page_.line("ATT.D9", fmt::format("bias_j = {}", bias_));
  page_.line("ATT.D4", fmt::format("logit_j = {}", logit_formula()));
  tell_special_logits();
  logit_table();
}

std::vector<std::size_t> RowWalk::keys_whose(const std::vector<Measured>& stage, bool (*holds)(double)) const {
  std::vector<std::size_t> found;
  for (const std::size_t j : keys_) {
    const double* given = std::get_if<double>(&stage[j].value);
    if (given && holds(*given)) found.push_back(j);
  }
  return found;
}

/// The line of the first table of ATT.D11 that decides, where a visible score is not finite.
void RowWalk::tell_special_logits() {
  const auto capped = keys_whose(scaled_, [](double x) { return std::isinf(x); });
  const auto nans = keys_whose(logits_, [](double x) { return std::isnan(x); });
  const auto high = keys_whose(logits_, [](double x) { return x > 0; });
  const auto low = keys_whose(logits_, [](double x) { return x < 0; });
  if (head().softcap && !capped.empty()) {
    page_.line("ATT.D10",
               fmt::format("infinite scores, at {}, are capped to plus or minus the cap", counted("key", capped)));
  }
  if (!nans.empty()) {
    page_.line("ATT.D11", fmt::format("some visible logit is NaN, at {}: so are weights, output and log-sum-exp",
                                      counted("key", nans)));
  } else if (!high.empty()) {
    page_.line("ATT.D11", fmt::format("some visible logit is +infinity, at {}: weights and output are NaN, and the "
                                      "log-sum-exp is +infinity",
                                      counted("key", high)));
  } else if (low.size() == keys_.size() && !head().sink) {
    page_.line(
        "ATT.D11",
        "every visible logit is -infinity, and there is no sink: weights and output are NaN, and the log-sum-exp "
        "is -infinity");
  } else if (!low.empty()) {
    page_.line("ATT.D11", fmt::format("some visible logit is -infinity, at {}: the weight is exactly 0 there, and "
                                      "the others are as if those keys were hidden",
                                      counted("key", low)));
  }
}

/// q . k_j, or what it is in the extended reals.
std::string RowWalk::product(std::size_t j) {
  switch (kind_of_score(row_of(operands_.given.queries, 0), row_of(operands_.given.keys, j), 1)) {
    case Kind::finite: return say(dot(row_of(head().queries, 0), row_of(head().keys, j)));
    case Kind::plus_infinity: return "inf";
    case Kind::minus_infinity: return "-inf";
    case Kind::nan: return "nan";
  }
  return {};
}

/// A column for each stage that changes anything; the answer stands beside the stage that it is of.
void RowWalk::logit_table() {
  const JudgedRow* answer = judged("scores");
  const bool has_logits = head().bias || head().softcap;
  const auto beside = [&](ScoreStage at) { return !has_logits || call_.scores_stage == at ? answer : nullptr; };
  PageTable table{{"key"}, {""}, {}};
  table.add_column("q . k_j", "SHP.D4");
  table.add_column("score_j", "ATT.D2");
  if (head().bias) table.add_column("bias_j", "ATT.D9");
  if (caps_before_bias()) table.add_column("capped_j", "ATT.D3");
  if (has_logits) table.add_column("logit_j", "ATT.D4");
  if (answer) add_answer_columns(table, *answer);
  add_table(table, keys_.size(), heaviest(), [&](std::size_t n) {
    const std::size_t j = keys_[n];
    std::vector<std::string> cells{fmt::format("{}", j), product(j), say(scaled_[j].value, beside(ScoreStage::scaled))};
    if (head().bias) cells.push_back(say((*head().bias)(0, j)));
    if (caps_before_bias()) cells.push_back(say(capped_[j].value, beside(ScoreStage::capped)));
    if (has_logits) cells.push_back(say(logits_[j].value, beside(ScoreStage::biased)));
    if (answer) add_answer_cells(cells, *answer, j);
    return cells;
  });
}

}  // namespace attest
