#include "attest/verdict/row_walk.hpp"

#include <algorithm>
#include <cmath>

#include "attest/certify/decimal.hpp"

namespace attest {

namespace {

constexpr int digits_shown = 8;

std::vector<Measured> stage(const EnclosedHead& operands, Call call, ScoreStage at) {
  call.scores_stage = at;
  return evaluate_row(operands, 0, call, {.out = false, .lse = false, .weights = false, .scores = true}).scores;
}

std::vector<Measured> weights(const EnclosedHead& operands, Call call, WeightsAre which) {
  call.weights_are = which;
  return evaluate_row(operands, 0, call, {.out = false, .lse = false, .weights = true, .scores = false}).weights;
}

}  // namespace

RowWalk::RowWalk(const ExplainedRow& row, const std::map<std::string, JudgedRow>& judged)
    : call_(row.call),
      bias_(row.bias),
      judged_(&judged),
      operands_(row.operands()),
      keys_(visible_keys(row_of(operands_.head.visible, 0))),
      scaled_(stage(operands_, call_, ScoreStage::scaled)),
      capped_(stage(operands_, call_, ScoreStage::capped)),
      logits_(stage(operands_, call_, ScoreStage::biased)),
      weights_(weights(operands_, call_, WeightsAre::probabilities)),
      kept_weights_(weights(operands_, call_, WeightsAre::dropped)),
      values_(evaluate_row(operands_, 0, call_, {.out = true, .lse = true, .weights = false, .scores = false})) {}

const JudgedRow* RowWalk::judged(const std::string& output) const {
  const auto found = judged_->find(output);
  return found == judged_->end() ? nullptr : &found->second;
}

bool RowWalk::is_lost() const {
  return std::ranges::any_of(keys_, [&](std::size_t j) {
    const double* weight = std::get_if<double>(&weights_[j].value);
    return weight && std::isnan(*weight);
  });
}

std::size_t RowWalk::heaviest() const {
  const auto weight = [&](std::size_t n) {
    const Enclosure* w = std::get_if<Enclosure>(&weights_[keys_[n]].value);
    return w ? static_cast<double>(median(*w)) : 0.0;
  };
  std::size_t best = 0;
  for (std::size_t n = 1; n < keys_.size(); ++n) {
    if (weight(n) > weight(best)) best = n;
  }
  return best;
}

Vector<Enclosure> RowWalk::terms() const {
  std::vector<Enclosure> finite;
  for (const std::size_t j : keys_) {
    if (const Enclosure* x = std::get_if<Enclosure>(&logits_[j].value)) finite.push_back(*x);
  }
  if (head().sink) finite.push_back(*head().sink);
  return tabulate(finite.size(), [&](std::size_t n) { return finite[n]; });
}

std::string RowWalk::say(const Enclosure& x, const JudgedRow* beside) {
  const int digits = beside ? std::max(digits_shown, decimal_digits(beside->format) + 1) : digits_shown;
  const Decimal shown = decimal(x, digits);
  certified_ &= shown.certified;
  return shown.text;
}

std::string RowWalk::say(const Value& x, const JudgedRow* beside) {
  if (const double* given = std::get_if<double>(&x)) return fmt::format("{}", *given);
  return say(std::get<Enclosure>(x), beside);
}

}  // namespace attest
