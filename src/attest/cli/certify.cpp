#include <fmt/format.h>

#include "attest/cli/commands.hpp"
#include "attest/cli/option_values.hpp"
#include "attest/files/case.hpp"
#include "attest/files/whole_file.hpp"

namespace attest {

namespace {

std::vector<QueryRow> rows_of(const CertifyOptions& options, const Problem& problem) {
  const Extents n = extents(problem.inputs);
  require(n.batch * n.q_heads * n.queries > 0, "CAS.C7", "--row: the case has no query rows");
  if (!options.row.empty()) return {query_row_named(options.row, n)};
  const std::vector<QueryRow> rows = spread_rows(problem, options.rows);
  require(!rows.empty(), "CAS.C7", "--row: all query rows of the case are padding");
  return rows;
}

std::size_t theorems_in(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find("\nTheorem "); at != text.npos; at = text.find("\nTheorem ", at + 1)) ++count;
  return count;
}

int certify_case(const CertifyOptions& options, const Case& given) {
  const CertificateParts parts{rows_of(options, given.problem), options.elements,
                               format_named(options.dtype.empty() ? "f64" : options.dtype)};
  require_writable(options.out_path, options.case_path);
  const std::string text = certificate_of(given.problem, given.cotangents, parts);
  write_whole(options.out_path, std::as_bytes(std::span(text)));
  fmt::print("{} theorems about {} query rows; after .ci/proofs, `coqc -Q build/proofs Attest FILE.v` proves them\n",
             theorems_in(text), parts.rows.size());
  return 0;
}

int certify_case(const CertifyOptions& options, const LayerCase&) {
  require(false, "CAS.C17", "{}: an attention call, got a layer", options.case_path);
  return 2;
}

int certify_case(const CertifyOptions& options, const NodeCase&) {
  require(false, "CAS.C17", "{}: an attention call, got a node beside attention", options.case_path);
  return 2;
}

}  // namespace

int run_certify(const CertifyOptions& options) {
  const AnyCase any = read_any_case(options.case_path, options.overrides);
  return std::visit([&](const auto& given) { return certify_case(options, given); }, any);
}

}  // namespace attest
