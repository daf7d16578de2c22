#pragma once
/// Chapter 17 (ENC): the correctly rounded outputs of a call, with the proof that an enclosure is.

#include <functional>
#include <map>
#include <string>

#include "attest/certify/rounding.hpp"
#include "attest/definitions/problem.hpp"

namespace attest {

/// One element of a certified output.
struct Element {
  double lower;      ///< the candidates for the correctly rounded value, equal when it is decided
  double upper;      ///<
  double exact;      ///< the exact value, as exact + exact_low, good to about 2^-100
  double exact_low;  ///<
  double unit;       ///< the unit of its distance in the format (ENC.D6)
};

/// A certified output in a format. Elements in the order (b, h, i, ...).
struct CertifiedTensor {
  Format format;
  Overflow overflow;
  Shape shape;
  std::vector<Element> elements;
  int bits = 0;               ///< the greatest precision that any of its rows needed to be settled
  std::size_t undecided = 0;  ///< elements left as a pair of neighbours at the cap
};

/// The precisions of ENC.D2.
struct Ladder {
  int first = 128;
  int cap = 4096;
};

/// Called with the work done and the work in all, from any thread but one at a time.
using Progress = std::function<void(std::size_t done, std::size_t total)>;

/// ENC.D2  certify(problem, wanted): each row in enclosures of 128, 256, ... 4096 bits until every wanted element of it
/// rounds to one value of its format. `wanted` maps out, lse, weights, scores, present_k, present_v to formats. Throws
/// CannotAnswer if an element is not even a pair of neighbours at the cap. Uses every core.
std::map<std::string, CertifiedTensor> certify(const Problem& problem, const std::map<std::string, Format>& wanted,
                                               const Ladder& ladder = {}, const Progress& progress = {});

/// The shape of an output, axes (B, Hq, Sq, ...).
Shape shape_of_output(const std::string& name, const Extents& extents);

/// The products that scores and outputs take, masks left aside: what the time of `certify` is proportional to.
double cost_of(const Problem& problem);

}  // namespace attest
