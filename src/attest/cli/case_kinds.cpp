#include "attest/cli/case_kinds.hpp"

#include "attest/certify/certify.hpp"
#include "attest/certify/certify_gradient.hpp"
#include "attest/certify/certify_layer.hpp"
#include "attest/certify/certify_node.hpp"
#include "attest/certify/operation_row.hpp"
#include "attest/files/safetensors.hpp"
#include "attest/files/whole_file.hpp"

namespace attest {

namespace {

/// The output to blame: `out` if it is there, else the first that has rows.
const Comparison* blamed(const Report& report) {
  const Comparison* found = nullptr;
  for (const Comparison& c : report.outputs) {
    if (!c.by_units || !has_query_rows(c.name)) continue;
    if (!found || c.name == "out") found = &c;
  }
  return found;
}

/// The answers of one row of the call, for the case that single_row makes of it.
Outputs row_answers(const Outputs& answers, std::size_t b, std::size_t h, std::size_t i) {
  Outputs row;
  for (const auto& [name, output] : answers) {
    if (!has_query_rows(name)) continue;
    const Tensor<double>& t = output.values;
    const bool flat = name == "lse";
    const std::size_t width = flat ? 1 : t.shape(3);
    Tensor<double> part = Tensor<double>::from_shape(flat ? Shape{1, 1, 1} : Shape{1, 1, 1, width});
    for (std::size_t c = 0; c < width; ++c) part.data()[c] = flat ? t(b, h, i) : t(b, h, i, c);
    row.emplace(name, Output{output.format, std::move(part)});
  }
  return row;
}

}  // namespace

// An attention call

Record record_of(const Case& given) {
  Record record{{"convention", given.problem.call.convention}};
  for (const Setting& setting : describe(given.problem.call)) record.emplace_back(setting.key, setting.value);
  return record;
}

InputShapes input_shapes(const Case& given) {
  const auto shape = [](const Tensor<double>& t) { return Shape(t.shape().begin(), t.shape().end()); };
  const Inputs& inputs = given.problem.inputs;
  return {{"q", shape(inputs.q)}, {"k", shape(inputs.k)}, {"v", shape(inputs.v)}};
}

namespace {

/// The formats of those outputs that are gradients, or of those that are not.
Formats part_of(const Formats& wanted, bool gradients) {
  Formats part;
  for (const auto& [name, format] : wanted) {
    if (is_gradient(name) == gradients) part.emplace(name, format);
  }
  return part;
}

}  // namespace

double cost_of(const Case& given, const Formats& wanted) {
  const bool forwards = !part_of(wanted, false).empty(), backwards = !part_of(wanted, true).empty();
  return (forwards ? cost_of(given.problem) : 0) + (backwards ? cost_of_gradients(given.problem) : 0);
}

Certified certify(const Case& given, const Formats& wanted, const Ladder& ladder, const Progress& progress) {
  const Formats gradients = part_of(wanted, true), outputs = part_of(wanted, false);
  Certified certified;
  if (!gradients.empty()) {
    require(given.cotangents.has_value(), "CAS.C8", "{}: only with dout in the case", gradients.begin()->first);
    certified = certify_gradients(given.problem, *given.cotangents, gradients, ladder, progress);
  }
  if (!outputs.empty()) certified.merge(certify(given.problem, outputs, ladder, progress));
  return certified;
}

std::vector<Comparison> compare(const Case& given, const Certified& due, const Outputs& answers) {
  std::vector<Comparison> comparisons;
  const std::vector<RowState> rows = row_states(given.problem);
  for (const auto& [name, answer] : answers) {
    comparisons.push_back(is_gradient(name) ? compare_gradient(name, due.at(name), answer.values, given.problem)
                                            : compare(name, due.at(name), answer.values, given.problem, rows));
  }
  return comparisons;
}

Outputs read_outputs(const std::filesystem::path& path, const Case& given) { return read_outputs(path, given.problem); }

Formats evaluated(const Case& given, Format format, const Parts& parts) {
  require(!parts.stages || given.problem.call.layout != Layout::thd, "CAS.C8",
          "--stages: layout THD has no weights and scores");
  Formats outputs{{"out", format}, {"lse", format}};
  if (parts.stages) outputs.insert({{"weights", format}, {"scores", format}});
  if (!parts.gradients) return outputs;
  require(given.cotangents.has_value(), "CAS.C8", "--gradients: only with dout in the case");
  outputs.insert({{"dq", format}, {"dk", format}, {"dv", format}});
  if (given.problem.inputs.bias) outputs.emplace("dbias", format);
  if (given.problem.inputs.sink) outputs.emplace("dsink", format);
  return outputs;
}

Archive archive_of(const Outputs& outputs, const Case& given) { return archive_of(outputs, given.problem); }

void require_query_rows(const Case&) {}

void dump_worst_row(const std::string& path, const Report& report, const Case& given, const Outputs& answers) {
  const Comparison* worst = blamed(report);
  require(worst != nullptr, "CAS.C8", "--dump-worst: the case has no output with query rows");
  const std::vector<std::size_t> at = unravel(worst->by_units->element, worst->shape);
  const Case row{single_row(given.problem, at[0], at[1], at[2]), row_answers(answers, at[0], at[1], at[2]),
                 given.dtypes};
  write_whole(path, format_safetensors(archive_of(row)));
}

// A layer

Record record_of(const LayerCase& given) {
  Record record{{"convention", given.record.call.convention}};
  for (const Setting& setting : describe(given.record)) record.emplace_back(setting.key, setting.value);
  return record;
}

InputShapes input_shapes(const LayerCase& given) {
  const auto shape = [](const auto& t) { return Shape(t.shape().begin(), t.shape().end()); };
  const LayerProblem& problem = given.problem;
  return {{"query", shape(problem.query)}, {"key", shape(problem.key)}, {"value", shape(problem.value)}};
}

double cost_of(const LayerCase& given, const Formats&) { return cost_of(given.problem); }

Certified certify(const LayerCase& given, const Formats& wanted, const Ladder& ladder, const Progress& progress) {
  return certify(given.problem, wanted, ladder, progress);
}

std::vector<Comparison> compare(const LayerCase& given, const Certified& due, const Outputs& answers) {
  std::vector<Comparison> comparisons;
  for (const auto& [name, answer] : answers) {
    comparisons.push_back(compare(name, due.at(name), answer.values, given.problem));
  }
  return comparisons;
}

Formats evaluated(const LayerCase&, Format format, const Parts& parts) {
  require(!parts.gradients, "CAS.C8", "--gradients: only of an attention call");
  Formats outputs{{"out", format}};
  if (parts.stages) outputs.insert({{"weights", format}, {"mean_weights", format}});
  return outputs;
}

void require_query_rows(const LayerCase&) {
  require(false, "CAS.C8", "--dump-worst: only an attention call has query rows of its own");
}

void dump_worst_row(const std::string&, const Report&, const LayerCase& given, const Outputs&) {
  require_query_rows(given);
}

// A node beside attention

Record record_of(const NodeCase& given) {
  Record record;
  for (const Setting& setting : given.record) record.emplace_back(setting.key, setting.value);
  return record;
}

InputShapes input_shapes(const NodeCase& given) { return given.inputs; }

double cost_of(const NodeCase& given, const Formats&) { return cost_of(given.operation); }

Certified certify(const NodeCase& given, const Formats& wanted, const Ladder& ladder, const Progress& progress) {
  Certified certified;
  for (const auto& [name, format] : wanted) {
    certified.emplace(name, certify(given.operation, format, ladder, progress));
  }
  return certified;
}

std::vector<Comparison> compare(const NodeCase& given, const Certified& due, const Outputs& answers) {
  std::vector<Comparison> comparisons;
  for (const auto& [name, answer] : answers) {
    comparisons.push_back(compare(name, due.at(name), answer.values));
    comparisons.back().unit = unit_name(given.operation);
  }
  return comparisons;
}

Formats evaluated(const NodeCase&, Format format, const Parts& parts) {
  require(!parts.gradients, "CAS.C8", "--gradients: only of an attention call");
  require(!parts.stages, "CAS.C8", "--stages: only an attention call has weights and scores");
  return {{"out", format}};
}

void require_query_rows(const NodeCase&) {
  require(false, "CAS.C8", "--dump-worst: only an attention call has query rows");
}

void dump_worst_row(const std::string&, const Report&, const NodeCase& given, const Outputs&) {
  require_query_rows(given);
}

}  // namespace attest
