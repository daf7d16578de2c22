#pragma once
/// What the commands ask of a case, a function for each kind of it. A command visits an AnyCase and calls these; a new
/// kind of case brings its own and changes no command.

#include "attest/certify/certified.hpp"
#include "attest/files/case.hpp"
#include "attest/verdict/report.hpp"

namespace attest {

using Outputs = std::map<OutputName, Output>;
using Formats = std::map<OutputName, Format>;
using Certified = std::map<OutputName, CertifiedTensor>;
using Record = std::vector<std::pair<std::string, std::string>>;
using InputShapes = std::vector<std::pair<std::string, Shape>>;

/// The record as a report prints it.
Record record_of(const Case& given);
Record record_of(const LayerCase& given);
Record record_of(const NodeCase& given);

/// The operands as a report prints them.
InputShapes input_shapes(const Case& given);
InputShapes input_shapes(const LayerCase& given);
InputShapes input_shapes(const NodeCase& given);

/// What the time of `certify` is proportional to, in products of enclosures.
double cost_of(const Case& given, const Formats& wanted);
double cost_of(const LayerCase& given, const Formats& wanted);
double cost_of(const NodeCase& given, const Formats& wanted);

Certified certify(const Case& given, const Formats& wanted, const Ladder& ladder, const Progress& progress);
Certified certify(const LayerCase& given, const Formats& wanted, const Ladder& ladder, const Progress& progress);
Certified certify(const NodeCase& given, const Formats& wanted, const Ladder& ladder, const Progress& progress);

/// The answers against the certified values, in the order of their names.
std::vector<Comparison> compare(const Case& given, const Certified& due, const Outputs& answers);
std::vector<Comparison> compare(const LayerCase& given, const Certified& due, const Outputs& answers);
std::vector<Comparison> compare(const NodeCase& given, const Certified& due, const Outputs& answers);

/// The answers in another file than the case.
Outputs read_outputs(const std::filesystem::path& path, const Case& given);

/// What `eval` is to write beside the outputs.
struct Parts {
  bool stages, gradients;
};

/// What `eval` writes. Refuses parts that the case does not have: CAS.C8.
Formats evaluated(const Case& given, Format format, const Parts& parts);
Formats evaluated(const LayerCase& given, Format format, const Parts& parts);
Formats evaluated(const NodeCase& given, Format format, const Parts& parts);

/// Outputs as `eval` writes them.
Archive archive_of(const Outputs& outputs, const Case& given);

/// Refuses a kind of case that has no query rows, of which one could be dumped: CAS.C8.
void require_query_rows(const Case& given);
void require_query_rows(const LayerCase& given);
void require_query_rows(const NodeCase& given);

/// Writes the query row that is farthest off as a case of its own. Refuses answers without query rows: CAS.C8.
void dump_worst_row(const std::string& path, const Report& report, const Case& given, const Outputs& answers);
void dump_worst_row(const std::string& path, const Report& report, const LayerCase& given, const Outputs& answers);
void dump_worst_row(const std::string& path, const Report& report, const NodeCase& given, const Outputs& answers);

}  // namespace attest
