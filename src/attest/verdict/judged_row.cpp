#include "attest/verdict/judged_row.hpp"

#include <fmt/format.h>

#include <cmath>

namespace attest {

namespace {

std::vector<Measured> part_of(RowValues values, const std::string& output) {
  if (output == "out") return std::move(values.out);
  if (output == "lse") return std::move(values.lse);
  return output == "weights" ? std::move(values.weights) : std::move(values.scores);
}

}  // namespace

std::string JudgedRow::answer(std::size_t n) const {
  return fmt::format("{:.{}g}", answers[n], decimal_digits(format));
}

std::string JudgedRow::steps(std::size_t n) const {
  const std::uint64_t distance = distance_in_steps(format, due[n], answers[n]);
  return distance == unreachable ? "NaN" : fmt::format("{}", distance);
}

std::string JudgedRow::units(std::size_t n) const {
  return fmt::format("{:.3g}", distance_in_units(due[n], answers[n]));
}

JudgedRow judged_row(const RowOperands& operands, const Call& call, const std::string& output,
                     const RowAnswer& answer) {
  const RowWanted wanted{output == "out", output == "lse", output == "weights", output == "scores"};
  CertifiedTensor certified =
      certify_rows(output, prepare(answer.format, call.f8_overflow, {1, answer.values.size()}),
                   [&](std::size_t) { return part_of(evaluate_row(operands(), 0, call, wanted), output); });
  JudgedRow judged{answer.format, std::move(certified.elements), answer.values, 0};
  const auto units = [&](std::size_t n) { return distance_in_units(judged.due[n], judged.answers[n]); };
  for (std::size_t n = 1; n < judged.due.size(); ++n) {
    if (units(n) > units(judged.farthest)) judged.farthest = n;
  }
  return judged;
}

int decimal_digits(Format format) {
  return 1 + static_cast<int>(std::ceil(parameters(format).precision * std::log10(2.0)));
}

void add_answer_columns(PageTable& table, const JudgedRow& judged) {
  table.add_column(fmt::format("answer {}", parameters(judged.format).name));
  table.add_column("steps", "ENC.D5");
  table.add_column("units", "ENC.D6");
  table.add_column("");
}

void add_answer_cells(std::vector<std::string>& cells, const JudgedRow& judged, std::size_t n) {
  const bool far = n == judged.farthest && distance_in_units(judged.due[n], judged.answers[n]) > 0;
  cells.insert(cells.end(), {judged.answer(n), judged.steps(n), judged.units(n), far ? "<- farthest" : ""});
}

}  // namespace attest
