#include "attest/definitions/norms.hpp"

#include <algorithm>

namespace attest {

void require_epsilon(double epsilon) {
  require(std::isfinite(epsilon) && epsilon >= 0, "NRM.C1", "epsilon: finite and at least 0, got {}", epsilon);
}

void require_channels(std::size_t width) { require(width > 0, "NRM.C3", "row: at least one channel, got {}", width); }

void require_layer_norm_exists(Row<double> row, double epsilon) {
  require_epsilon(epsilon);
  require_channels(row.size());
  const bool varies = std::ranges::any_of(row, [&](double x) { return x != row.front(); });
  require(varies || epsilon > 0, "NRM.C4", "epsilon: above 0 for a row of equal channels, got {}", epsilon);
}

void require_rms_norm_exists(Row<double> row, double epsilon) {
  require_epsilon(epsilon);
  require_channels(row.size());
  const bool is_zero = std::ranges::all_of(row, [](double x) { return x == 0; });
  require(!is_zero || epsilon > 0, "NRM.C4", "epsilon: above 0 for a row of zeros, got {}", epsilon);
}

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_NORMS, )

}  // namespace attest
