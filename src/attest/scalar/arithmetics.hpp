#pragma once
/// The arithmetics in which every definition is compiled once, in the source file of its chapter. Other translation
/// units find them declared `extern` and stay cheap to compile.

#include "attest/scalar/dual.hpp"
#include "attest/scalar/enclosure.hpp"
#include "attest/scalar/native.hpp"
#include "attest/scalar/rounded.hpp"
#include "attest/scalar/wide.hpp"

/// Applies MACRO(KEYWORD, T) for each arithmetic T; KEYWORD is `extern` in a header and empty in the source file.
#define ATTEST_FOR_EACH_ARITHMETIC(MACRO, KEYWORD)    \
  MACRO(KEYWORD, float)                               \
  MACRO(KEYWORD, double)                              \
  MACRO(KEYWORD, ::attest::Wide)                      \
  MACRO(KEYWORD, ::attest::Enclosure)                 \
  MACRO(KEYWORD, ::attest::Dual<::attest::Enclosure>) \
  MACRO(KEYWORD, ::attest::RoundedF32)                \
  MACRO(KEYWORD, ::attest::RoundedF16)                \
  MACRO(KEYWORD, ::attest::RoundedBF16)
