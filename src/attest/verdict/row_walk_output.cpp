#include <cmath>

#include "attest/verdict/row_walk.hpp"

namespace attest {

void RowWalk::tell_output() {
  page_.heading("output");
  if (is_empty()) {
    page_.line("ATT.D7", call_.empty_row == EmptyRow::nan
                             ? "an empty row: NaN in every channel, as the call has it (empty_row = nan)"
                             : "an empty row: 0 in every channel");
  } else if (!is_lost()) {
    page_.line("ATT.D6", fmt::format("o_c = (sum of e_j v_jc) / total{}",
                                     head().kept ? ", over the keys that dropout keeps" : ""));
    if (operands_.given.output_scale != 1) {
      page_.line("ATT.D7", fmt::format("times delta_v / (1 - p) = {}", say(head().output_scale)));
    }
  }
  tell_special_channels();
  const JudgedRow* answer = judged("out");
  PageTable table{{"channel"}, {""}, {}};
  table.add_column("o_c", is_empty() || is_lost() || operands_.given.output_scale != 1 ? "ATT.D7" : "ATT.D6");
  if (answer) add_answer_columns(table, *answer);
  add_table(table, values_.out.size(), answer ? answer->farthest : 0, [&](std::size_t c) {
    std::vector<std::string> cells{fmt::format("{}", c), say(values_.out[c].value, answer)};
    if (answer) add_answer_cells(cells, *answer, c);
    return cells;
  });
}

/// Why a channel is not finite: the line of the second table of ATT.D11 that decides.
std::string RowWalk::reason(std::size_t channel) const {
  bool nan = false, weightless = false, high = false, low = false;
  for (const std::size_t j : keys_) {
    if (head().kept && !(*head().kept)(0, j)) continue;
    const double v = operands_.given.values(j, channel);
    nan |= std::isnan(v);
    weightless |= std::isinf(v) && std::holds_alternative<double>(logits_[j].value);
    high |= std::isinf(v) && v > 0;
    low |= std::isinf(v) && v < 0;
  }
  if (nan) return "some value is NaN, and so is the output";
  if (weightless) return "an infinite value at a key whose logit is -infinity; 0 times infinity is NaN";
  if (high && low) return "values of both infinities, whose sum is NaN";
  return "values of one infinity, which the output is, times delta_v";
}

void RowWalk::tell_special_channels() {
  if (is_lost()) page_.line("ATT.D11", "NaN in every channel");
  if (is_lost() || keys_.empty()) return;
  std::map<std::string, std::vector<std::size_t>> channels;
  for (std::size_t c = 0; c < values_.out.size(); ++c) {
    if (std::holds_alternative<double>(values_.out[c].value)) channels[reason(c)].push_back(c);
  }
  for (const auto& [why, which] : channels)
    page_.line("ATT.D11", fmt::format("in {}: {}", counted("channel", which), why));
}

}  // namespace attest
