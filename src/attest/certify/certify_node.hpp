#pragma once
/// Chapter 17 (ENC): the correctly rounded output of an operation on rows.

#include "attest/certify/certified.hpp"
#include "attest/definitions/row_operation.hpp"

namespace attest {

/// certify(operation, format): each row in enclosures along the ladder of ENC.D2. The result has the shape of
/// the operand. Infinities and NaN follow the rules of chapter 17.
CertifiedTensor certify(const RowOperation& operation, Format format, const Ladder& ladder = {},
                        const Progress& progress = {});

/// The unit of its elements , as a report prints it.
std::string unit_name(const RowOperation& operation);

/// The elements that an operation makes, weighed like the products of `cost_of` for a call.
double cost_of(const RowOperation& operation);

}  // namespace attest
