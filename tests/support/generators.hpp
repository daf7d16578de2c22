#pragma once
/// Random attention calls in which the rare classes are common: empty rows, one visible key, ties, huge and tiny
/// scores, mixed signs, Sq != Sk both ways, no keys, no queries, no batch, odd widths, grouped heads.
/// generators_test.cpp counts them.

#include <rapidcheck.h>

#include <iosfwd>

#include "attest/definitions/problem.hpp"

namespace attest {

std::ostream& operator<<(std::ostream& out, const Problem& problem);

/// Integers in low .. high-1, uniform at every size of the test. (rapidcheck's own inRange begins with the low ones.)
template <class Integer>
rc::Gen<Integer> between(Integer low, Integer high) {
  return rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high));
}

/// What a generated call may contain.
struct CallSpace {
  bool bias = true;
  bool softcap = true;
  bool sink = true;
  bool masks = true;
  bool dropout = true;
  bool alibi = true;
  bool descale = true;
  bool degenerate = true;  ///< extents of 0
};

/// A whole call within the space. Values are small dyadic numbers, so that they are exact in every format down to bf16
/// and equal scores happen.
rc::Gen<Problem> calls(const CallSpace& space = {});

/// A call with at least one query and one key.
rc::Gen<Problem> plain_calls();

/// m numbers, sometimes huge, tiny, or all equal.
rc::Gen<std::vector<double>> rows(std::size_t m);

/// m booleans, often all false or all but one.
rc::Gen<std::vector<bool>> visible_rows(std::size_t m);

/// A tensor of dyadic numbers n * 2^exponent with |n| <= 16.
rc::Gen<Tensor<double>> tensors(const Shape& shape, int exponent);

/// What is special about a call; the names under which properties classify their inputs.
std::vector<std::string> classes_of(const Problem& problem);

/// The same call with NaN and infinities in every key and value that no query of the head sees.
Problem poisoned(const Problem& problem);

/// The tensor with the order of one axis reversed. (xt::flip offsets a null pointer where there are no elements.)
template <class T>
Tensor<T> reversed(const Tensor<T>& t, std::size_t axis) {
  Tensor<T> result = t;
  const std::size_t extent = t.shape(axis);
  std::size_t inner = 1;
  for (std::size_t a = axis + 1; a < t.dimension(); ++a) inner *= t.shape(a);
  for (std::size_t n = 0; n < t.size(); ++n) {
    const std::size_t j = n / inner % extent;
    result.data()[n + inner * (extent - 1 - j) - inner * j] = t.data()[n];
  }
  return result;
}

/// The visible set of the rows of a (b, h), as a plain matrix.
Matrix<bool> visible_matrix(const Problem& problem, std::size_t b, std::size_t h);

}  // namespace attest
