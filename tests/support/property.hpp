#pragma once
/// Properties of the specification, on random inputs. RC_PARAMS pins seed and number of cases (CMakePresets.json).

#include <gtest/gtest.h>
// after gtest:
#include <rapidcheck/gtest.h>

#include "support/compare.hpp"
#include "support/generators.hpp"

/// PROPERTY(SMX_P1, softmax_rows_sum_to_one) { ... RC_ASSERT(...); }
#define PROPERTY(id, sentence) RC_GTEST_PROP(id, sentence, ())
