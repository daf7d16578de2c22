#pragma once
/// Chapter 17 (ENC): a certificate: results of a call as theorems about the definitions of proofs_notes/coq.

#include <optional>
#include <string>
#include <vector>

#include "attest/certify/certify_gradient.hpp"
#include "attest/definitions/problem.hpp"

namespace attest {

/// A query row of a call.
struct QueryRow {
  std::size_t b, h, i;
};

/// What a certificate is to hold.
struct CertificateParts {
  std::vector<QueryRow> rows;  ///< in increasing order
  std::size_t elements = 2;    ///< of each output of a row, spread over its length
  Format format = Format::f64;
};

/// ENC.D12  certificate_of(problem, cotangents, parts): a Coq file. It states the inputs exactly and, for each row, its
/// visible keys, enclosures of its logits, and of its log-sum-exp, outputs and weights, and of entries of dq where
/// there are cotangents, the reals that round to the value found (ENC.D13). Refuses what is not finite or is too large:
/// ENC.C2, ENC.C3.
std::string certificate_of(const Problem& problem, const std::optional<Cotangents>& cotangents,
                           const CertificateParts& parts);

/// At most `count` rows that are not padding, spread over the call, and an empty one if there is any.
std::vector<QueryRow> spread_rows(const Problem& problem, std::size_t count);

/// At most `count` of 0 .. n-1, the first and the last among them.
std::vector<std::size_t> spread(std::size_t n, std::size_t count);

}  // namespace attest
