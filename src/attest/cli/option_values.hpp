#pragma once
/// Values of options that more than one command has.

#include <string>

#include "attest/definitions/problem.hpp"
#include "attest/verdict/certificate.hpp"

namespace attest {

/// The format of --dtype. Refuses other names: CAS.C7.
Format format_named(const std::string& name);

/// "b,h,i" of --row, three indices within their extents. Refuses anything else: CAS.C7.
QueryRow query_row_named(const std::string& text, const Extents& n);

}  // namespace attest
