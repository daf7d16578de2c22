#pragma once
/// Chapter 17 (ENC): the correctly rounded outputs of a call, with the proof that an enclosure is.

#include <map>
#include <string>

#include "attest/certify/certified.hpp"
#include "attest/definitions/problem.hpp"

namespace attest {

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
