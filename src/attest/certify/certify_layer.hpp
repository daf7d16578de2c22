#pragma once
/// Chapter 17 (ENC): the correctly rounded outputs of a layer.

#include <map>

#include "attest/certify/certified.hpp"
#include "attest/definitions/layer.hpp"

namespace attest {

/// ENC.D2  certify(layer, wanted): each query row in enclosures of 128, 256, ... 4096 bits, from the projections on,
/// until every wanted element of it is decided. `wanted` maps out, weights, mean_weights to formats; units are ENC.D8.
/// An empty row that the record wants as NaN makes the whole output row NaN. Throws CannotAnswer as `settle` does.
std::map<std::string, CertifiedTensor> certify(const LayerProblem& problem, const std::map<std::string, Format>& wanted,
                                               const Ladder& ladder = {}, const Progress& progress = {});

/// The products that the layer takes, masks left aside.
double cost_of(const LayerProblem& problem);

}  // namespace attest
