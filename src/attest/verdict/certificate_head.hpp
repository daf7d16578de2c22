#pragma once
/// Chapter 17 (ENC): the inputs of one head as a certificate states them.

#include <optional>
#include <string>

#include "attest/certify/certify_gradient.hpp"
#include "attest/definitions/problem.hpp"

namespace attest {

/// The definitions Q, K, V, bias, seen, kept_keys, sink_logit and h of a certificate, exactly, and x, f, g and gL where
/// there are cotangents.
std::string head_text(const Problem& problem, std::size_t b, std::size_t h,
                      const std::optional<Cotangents>& cotangents);

}  // namespace attest
