#pragma once
/// Properties of the specification, on random inputs. RC_PARAMS pins seed and number of cases (CMakePresets.json).

#include <gtest/gtest.h>
// after gtest:
#include <rapidcheck/gtest.h>

#include "support/compare.hpp"
#include "support/generators.hpp"

/// PROPERTY(SMX_P1, softmax_rows_sum_to_one) { ... RC_ASSERT(...); }
#define PROPERTY(id, sentence) RC_GTEST_PROP(id, sentence, ())

namespace attest {

/// Both calls have the same result, bit for bit.
template <class T>
void same_rows(const Problem& a, const Problem& b) {
  const Attended<T> x = attention<T>(a);
  const Attended<T> y = attention<T>(b);
  RC_ASSERT(x.rows.size() == y.rows.size());
  for (std::size_t r = 0; r < x.rows.size(); ++r) RC_ASSERT(same_bits(x.rows[r], y.rows[r]));
}

}  // namespace attest
