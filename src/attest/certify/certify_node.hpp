#pragma once
/// Chapter 17 (ENC): the correctly rounded output of an operation on rows.

#include "attest/certify/certified.hpp"
#include "attest/definitions/row_operation.hpp"

namespace attest {

/// ENC.D2 for an operation on rows. The result has the shape of the operand.
CertifiedTensor certify(const RowOperation& operation, Format format, const Ladder& ladder = {},
                        const Progress& progress = {});

/// The elements to be made, weighed so that they compare with the products of a call.
double cost_of(const RowOperation& operation);

}  // namespace attest
