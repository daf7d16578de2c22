#include "attest/training/loss.hpp"

#include <algorithm>

namespace attest {

void require_targets(std::size_t rows, std::size_t vocabulary, Row<std::size_t> targets) {
  require(rows > 0 && targets.size() == rows, "TRN.C1",
          "targets: one for each of the {} rows, and at least one, got {}", rows, targets.size());
  require_tokens(targets, vocabulary);
}

std::vector<std::size_t> predictions(const Matrix<double>& logits) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < logits.shape(0); ++i) {
    const Row<double> row = row_of(logits, i);
    result.push_back(static_cast<std::size_t>(std::ranges::max_element(row) - row.begin()));
  }
  return result;
}

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_LOSS, )

}  // namespace attest
