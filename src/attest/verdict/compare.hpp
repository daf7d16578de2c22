#pragma once
/// Chapter 17 (ENC): how far an answer is from the certified one.

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "attest/certify/certify.hpp"
#include "attest/certify/certify_gradient.hpp"
#include "attest/definitions/layer_problem.hpp"
#include "attest/verdict/rows.hpp"

namespace attest {

/// ENC.D4  is_candidate(due, answer): the answer is a correctly rounded one: one of the two candidates, -0 being equal
/// to +0, and any NaN where NaN is due.
bool is_candidate(const Element& due, double answer);

/// ENC.D5  distance_in_steps: the steps from the answer to the nearer candidate along the values of the format; 1 to a
/// neighbour. A NaN is as far as can be from everything but a NaN.
std::uint64_t distance_in_steps(Format format, const Element& due, double answer);

constexpr std::uint64_t unreachable = std::numeric_limits<std::uint64_t>::max();

/// ENC.D6  distance_in_units: |answer - exact| over the element's unit. 0 if both are the same infinity or NaN.
double distance_in_units(const Element& due, double answer);

/// The element that is farthest off by some measure.
struct Worst {
  std::size_t element;  ///< flat index
  double answer;
  Element due;
  std::uint64_t steps;
  double units;
};

/// A kind of structural fault: how often it was seen, and where first.
struct Fault {
  std::size_t count = 0;
  std::size_t first = 0;  ///< flat index of the element; without meaning while count is 0

  void see(bool is_there, std::size_t element) {
    if (is_there && count++ == 0) first = element;
  }
};

/// One output against its certified value. Counts are of elements; rows of padding are left out.
struct Comparison {
  std::string name;
  std::string unit;               ///< the formula of its unit (ENC.D6), as a report prints it
  std::vector<std::string> axes;  ///< the letters of its indices; none where the axes have no names
  Format format = Format::f64;
  Shape shape;
  std::size_t elements = 0;
  std::size_t padding = 0;            ///< elements left out
  std::size_t correctly_rounded = 0;  ///< the answer is a candidate
  std::size_t undecided = 0;          ///< of the certified value: two neighbours, either counts
  std::size_t negative_zeros = 0;     ///< -0 where 0 is correctly rounded: counted, and correct
  Fault nan_unexpected;               ///< NaN where a number or an infinity is due
  Fault nan_missing;                  ///< something else where NaN is due
  Fault infinity_unexpected;          ///< an infinity where a number, or the other infinity, is due
  Fault infinity_missing;             ///< a number where an infinity is due
  std::size_t empty_rows = 0;
  Fault empty_wrong;  ///< elements of empty rows that are not what the call says an empty row is
  Fault leaks;        ///< weights of hidden keys, or gradients where no visible pair leads, that are not 0
  int bits = 0;       ///< precision at which the certified value was settled
  std::optional<Worst> by_steps;
  std::optional<Worst> by_units;
};

/// Compares the answers, in the element order of the certified tensor, each by itself.
Comparison compare(const std::string& name, const CertifiedTensor& due, const Tensor<double>& answers);

/// The same for an output of a call, whose rows may be padding or empty and whose keys may be hidden.
Comparison compare(const std::string& name, const CertifiedTensor& due, const Tensor<double>& answers,
                   const Problem& problem, const std::vector<RowState>& rows);

/// The same for a gradient of a call. Where no visible pair of query and key leads, anything but 0 is a leak.
Comparison compare_gradient(const std::string& name, const CertifiedTensor& due, const Tensor<double>& answers,
                            const Problem& problem);

/// Whether the elements of an output of a call belong to query rows: not those of present_k, present_v and gradients.
bool has_query_rows(const std::string& name);

/// The same for an output of a layer.
Comparison compare(const std::string& name, const CertifiedTensor& due, const Tensor<double>& answers,
                   const LayerProblem& problem);

/// What is wrong with the structure, one sentence each: NaN where a number is due, empty rows, leaks, infinities.
std::vector<std::string> structural_faults(const Comparison& comparison);

/// (b, h, i, c) of a flat index.
std::vector<std::size_t> unravel(std::size_t element, const Shape& shape);

/// "(b 0, h 1, i 2, c 3)", or "(0, 1, 2)" where the axes have no names.
std::string position(const Comparison& comparison, std::size_t element);

}  // namespace attest
