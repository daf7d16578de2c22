#pragma once
/// Chapter 17 (ENC): a certified output, and the ladder of precisions that makes one.

#include <functional>
#include <string>
#include <vector>

#include "attest/certify/rounding.hpp"
#include "attest/tensor/shape.hpp"

namespace attest {

/// One element of a certified output.
struct Element {
  double lower;      ///< the candidates for the correctly rounded value, equal when it is decided
  double upper;      ///<
  double exact;      ///< the exact value, as exact + exact_low, good to about 2^-100
  double exact_low;  ///<
  double unit;       ///< the unit of its distance in the format (ENC.D6)
};

/// A certified output in a format. Elements in row-major order.
struct CertifiedTensor {
  Format format;
  Overflow overflow;
  Shape shape;
  std::vector<Element> elements;
  int bits = 0;               ///< the greatest precision that any of its rows needed to be settled
  std::size_t undecided = 0;  ///< elements left as a pair of neighbours at the cap
};

/// One element before rounding: its value, and its unit before the format's unit roundoff is multiplied in.
struct Measured {
  Value value;
  double unit;
};

/// The precisions of ENC.D2.
struct Ladder {
  int first = 128;
  int cap = 4096;
};

/// Called with the work done and the work in all, from any thread but one at a time.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

/// An output of this shape whose elements are still to be found.
CertifiedTensor prepare(Format format, Overflow overflow, const Shape& shape);

/// Rounds consecutive elements from `first` on; true when each of them is decided.
bool round_elements(CertifiedTensor& tensor, std::size_t first, const std::vector<Measured>& values);

/// An output that is a copy of its source.
void copy_rounded(CertifiedTensor& tensor, std::span<const double> source);

/// ENC.D3 at the end of the ladder: counts the undecided. Throws CannotAnswer if an element is not even a pair of
/// neighbours.
void settle(const std::string& name, CertifiedTensor& tensor, const Ladder& ladder);

/// ENC.D2  climb(rows, attempt): attempt(rows, bits) evaluates the rows with 128, 256, ... bits and returns those that
/// are to be evaluated again with twice as many, until there are none or the cap is reached.
template <class Attempt>
void climb(const Ladder& ladder, std::vector<std::size_t> rows, Attempt&& attempt) {
  for (int bits = ladder.first; !rows.empty() && bits <= ladder.cap; bits *= 2) {
    rows = with_precision(bits, [&] { return attempt(rows, bits); });
  }
}

/// Runs task(0) ... task(n-1) on every core, telling how many are done.
void for_each_task(std::size_t n, const std::function<void(std::size_t)>& task, const Progress& progress);

/// The values of one row of an output, in the precision at hand. Called from several threads.
using EvaluateRow = std::function<std::vector<Measured>(std::size_t row)>;

/// ENC.D2 for an output whose rows, along its last axis, are evaluated each by itself. An output without axes has one
/// row. Uses every core. Throws CannotAnswer as `settle` does.
CertifiedTensor certify_rows(const std::string& name, CertifiedTensor prepared, const EvaluateRow& evaluate,
                             const Ladder& ladder = {}, const Progress& progress = {});

}  // namespace attest
