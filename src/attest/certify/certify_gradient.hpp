#pragma once
/// Chapter 17 (ENC): the correctly rounded gradients of a call, with the proof that an enclosure is.

#include <map>
#include <optional>
#include <string>

#include "attest/certify/certified.hpp"
#include "attest/definitions/problem.hpp"

namespace attest {

/// What the gradients of a call come from: the gradients of its outputs.
struct Cotangents {
  Tensor<double> out;                 ///< (B, Hq, Sq, Dv)
  std::optional<Tensor<double>> lse;  ///< (B, Hq, Sq); absent: zero
};

/// Whether an output is a gradient: dq dk dv dbias dsink.
bool is_gradient(const std::string& name);

/// ENC.D10  certify_gradients(problem, cotangents, wanted): the heads that share keys or values in enclosures of 128,
/// 256, ... 4096 bits, until every wanted element of them is decided. `wanted` maps dq, dk, dv, dbias, dsink to
/// formats; units are ENC.D9. A bias is that of the call, in the shape it has there. Refuses what is not finite and
/// visible: ENC.C1. Throws CannotAnswer as `settle` does. Uses every core.
std::map<std::string, CertifiedTensor> certify_gradients(const Problem& problem, const Cotangents& cotangents,
                                                         const std::map<std::string, Format>& wanted,
                                                         const Ladder& ladder = {}, const Progress& progress = {});

/// The shape of a gradient: that of its input.
Shape shape_of_gradient(const std::string& name, const Inputs& inputs);

/// The products that gradients take, masks left aside.
double cost_of_gradients(const Problem& problem);

}  // namespace attest
