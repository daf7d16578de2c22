#include "attest/verdict/explain_row.hpp"

#include <fmt/format.h>

#include "attest/verdict/row_walk.hpp"

namespace attest {

namespace {

constexpr int most_bits = 1024;  // with digits still missing there, more precision would not find them

}  // namespace

std::string explain_row(const ExplainedRow& row) {
  std::map<std::string, JudgedRow> judged;
  for (const auto& [name, answer] : row.answers) {
    judged.emplace(name, judged_row(row.operands, row.call, name, answer));
  }
  for (int bits = Ladder{}.first;; bits *= 2) {
    const RowWalk walk = with_precision(bits, [&] {
      RowWalk one(row, judged);
      one.tell_logits();
      one.tell_softmax();
      one.tell_output();
      return one;
    });
    if (!walk.certified() && bits < most_bits) continue;
    return walk.text() + fmt::format("\nEvery digit is certified: rounded once, from enclosures of {} bits.\n", bits);
  }
}

}  // namespace attest
