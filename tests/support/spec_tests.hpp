#pragma once
/// Tests that carry an id of the specification. Their second name is a sentence.

#include <gtest/gtest.h>

/// A constraint's negative test: what it refuses, and how.
#define CONSTRAINT(id, sentence) TEST(id, sentence)
/// An example of the specification, with its numbers.
#define EXAMPLE(id, sentence) TEST(id, sentence)
