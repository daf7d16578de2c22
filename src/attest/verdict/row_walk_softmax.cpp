#include <cmath>

#include "attest/verdict/row_walk.hpp"

namespace attest {

namespace {

constexpr double bar_width = 20;

/// A weight as a bar; the whole width is 1.
std::string bar(const Value& weight) {
  const Enclosure* w = std::get_if<Enclosure>(&weight);
  const double length = w ? std::round(static_cast<double>(median(*w)) * bar_width) : 0;
  return std::string(static_cast<std::size_t>(length), '#');
}

}  // namespace

void RowWalk::tell_softmax() {
  page_.heading("softmax");
  if (keys_.empty()) {
    const bool nan = is_empty() && call_.empty_row == EmptyRow::nan;
    page_.line("SMX.D3",
               fmt::format("no key is visible, so nothing is gathered: an empty row, whose weights are all {}",
                           nan ? "NaN, as the call has it (empty_row = nan)" : "0"));
  }
  if (head().sink) {
    page_.line("SMX.D5",
               fmt::format("a sink, {}, joins the row as one more logit, without key or value", say(*head().sink)));
  }
  const Vector<Enclosure> logits = terms();
  if (is_lost()) {
    page_.line("ATT.D11", "every visible weight is NaN");
  } else if (logits.size() > 0) {
    tell_sums(exponentials(row_of(logits)));
  }
  tell_leaks();
  tell_lse();
}

/// A weight on a hidden key has no row in the table.
void RowWalk::tell_leaks() {
  const JudgedRow* answer = judged("weights");
  std::vector<std::size_t> leaks;
  for (std::size_t j = 0; answer && j < answer->answers.size(); ++j) {
    if (!head().visible(0, j) && answer->answers[j] != 0) leaks.push_back(j);
  }
  if (leaks.empty()) return;
  page_.line("", fmt::format("the answer has weight on hidden {}, where {} is due", counted("key", leaks),
                             is_empty() && call_.empty_row == EmptyRow::nan ? "NaN" : "0"));
}

void RowWalk::tell_sums(const Exponentials<Enclosure>& e) {
  page_.line("SMX.D1", fmt::format("e_j = exp(logit_j - c), c = greatest logit = {}; total = sum of e_j = {}",
                                   say(e.shift), say(e.total)));
  if (keys_.empty()) return;
  page_.line(head().sink ? "SMX.D5" : "SMX.D3", "w_j = e_j / total, and exactly 0 at hidden keys");
  if (head().dropout) {
    page_.line("ATT.D5",
               fmt::format("kept_j = w_j / (1 - p) where kept, 0 where dropped; p = {}", say(*head().dropout)));
  } else if (head().kept) {
    page_.line("ATT.D5", "kept_j = 0: with p = 1 nothing is kept");
  }
  weight_table(e);
}

/// The answer is of the weights themselves, or of what dropout leaves of them.
void RowWalk::weight_table(const Exponentials<Enclosure>& e) {
  const JudgedRow* answer = judged("weights");
  const bool of_kept = call_.weights_are == WeightsAre::dropped && head().kept;
  PageTable table{{"key"}, {""}, {}};
  table.add_column("e_j", "SMX.D1");
  table.add_column("w_j", head().sink ? "SMX.D5" : "SMX.D3");
  if (head().kept) table.add_column("kept_j", "ATT.D5");
  if (answer) {
    add_answer_columns(table, *answer);
  } else {
    table.add_column("");
  }
  std::vector<std::string> exponential(keys_.size(), "0");
  std::size_t term = 0;
  for (std::size_t n = 0; n < keys_.size(); ++n) {
    if (std::holds_alternative<Enclosure>(logits_[keys_[n]].value)) exponential[n] = say(e.terms(term++));
  }
  add_table(table, keys_.size() + (head().sink ? 1 : 0), heaviest(), [&](std::size_t n) {
    if (n == keys_.size()) return sink_cells(e);
    const std::size_t j = keys_[n];
    std::vector<std::string> cells{fmt::format("{}", j), exponential[n],
                                   say(weights_[j].value, of_kept ? nullptr : answer)};
    if (head().kept) cells.push_back(say(kept_weights_[j].value, of_kept ? answer : nullptr));
    if (answer) {
      add_answer_cells(cells, *answer, j);
    } else {
      cells.push_back(bar(weights_[j].value));
    }
    return cells;
  });
}

/// The sink's term and its share, which is dropped.
std::vector<std::string> RowWalk::sink_cells(const Exponentials<Enclosure>& e) {
  const Enclosure term = e.terms(e.terms.size() - 1);
  const Enclosure share = term / e.total;
  std::vector<std::string> cells{"sink", say(term), say(share)};
  if (head().kept) cells.emplace_back("");
  if (!judged("weights")) cells.push_back(bar(share));
  return cells;
}

void RowWalk::tell_lse() {
  const JudgedRow* answer = judged("lse");
  const std::string value = say(values_.lse[0].value, answer);
  const std::string_view sink = !head().sink ? "" : call_.sink_in_lse ? ", with the sink" : ", without the sink";
  if (std::holds_alternative<double>(values_.lse[0].value)) {
    page_.line("SMX.D4", fmt::format("lse = {}{}", value, keys_.empty() ? ", the logarithm of an empty sum" : ""));
  } else if (call_.lse_base == LseBase::two) {
    page_.line("SMX.D9", fmt::format("lse = (c + ln total) / ln 2 = {}{}", value, sink));
  } else {
    page_.line("SMX.D4", fmt::format("lse = c + ln total = {}{}", value, sink));
  }
  if (!answer) return;
  page_.line("", fmt::format("answer {}, {}: {} steps (ENC.D5), {} units (ENC.D6)", parameters(answer->format).name,
                             answer->answer(0), answer->steps(0), answer->units(0)));
}

}  // namespace attest
