#include <fmt/format.h>

#include "attest/cli/certify_shown.hpp"
#include "attest/cli/commands.hpp"
#include "attest/files/case.hpp"
#include "attest/files/safetensors.hpp"
#include "attest/files/whole_file.hpp"
#include "attest/verdict/report.hpp"

namespace attest {

namespace {

using Outputs = std::map<OutputName, Output>;

std::map<std::string, Format> formats_of(const Outputs& outputs) {
  std::map<std::string, Format> formats;
  for (const auto& [name, output] : outputs) formats.emplace(name, output.format);
  return formats;
}

std::vector<std::pair<std::string, Shape>> input_shapes(const Inputs& inputs) {
  const auto shape = [](const Tensor<double>& t) { return Shape(t.shape().begin(), t.shape().end()); };
  return {{"q", shape(inputs.q)}, {"k", shape(inputs.k)}, {"v", shape(inputs.v)}};
}

std::vector<std::pair<std::string, std::string>> record_of(const Call& call) {
  std::vector<std::pair<std::string, std::string>> record{{"convention", call.convention}};
  for (const Setting& setting : describe(call)) record.emplace_back(setting.key, setting.value);
  return record;
}

Report report_on(const CheckOptions& options, const Problem& problem, const Outputs& answers) {
  const auto certified = certify_shown(problem, formats_of(answers));
  Report report{.case_name = options.case_path,
                .record = record_of(problem.call),
                .inputs = input_shapes(problem.inputs),
                .outputs = {},
                .max_ulp = options.max_ulp};
  const std::vector<RowState> rows = row_states(problem);
  for (const auto& [name, answer] : answers) {
    report.outputs.push_back(compare(name, certified.at(name), answer.values, problem, rows));
  }
  return report;
}

/// The output to blame: `out` if it is there, else the first that has rows.
const Comparison* blamed(const Report& report) {
  const Comparison* found = nullptr;
  for (const Comparison& c : report.outputs) {
    if (!c.by_units || c.name.starts_with("present")) continue;
    if (!found || c.name == "out") found = &c;
  }
  return found;
}

/// The answers of one row of the call, for the case that single_row makes of it.
Outputs row_answers(const Outputs& answers, std::size_t b, std::size_t h, std::size_t i) {
  Outputs row;
  for (const auto& [name, output] : answers) {
    if (name.starts_with("present")) continue;
    const Tensor<double>& t = output.values;
    const bool flat = name == "lse";
    const std::size_t width = flat ? 1 : t.shape(3);
    Tensor<double> part = Tensor<double>::from_shape(flat ? Shape{1, 1, 1} : Shape{1, 1, 1, width});
    for (std::size_t c = 0; c < width; ++c) part.data()[c] = flat ? t(b, h, i) : t(b, h, i, c);
    row.emplace(name, Output{output.format, std::move(part)});
  }
  return row;
}

void dump_worst_row(const std::string& path, const Report& report, const Case& given, const Outputs& answers) {
  const Comparison* worst = blamed(report);
  require(worst != nullptr, "CAS.C8", "--dump-worst: the case has no output with query rows");
  const std::vector<std::size_t> at = unravel(worst->by_units->element, worst->shape);
  const Case row{single_row(given.problem, at[0], at[1], at[2]), row_answers(answers, at[0], at[1], at[2]),
                 given.dtypes};
  write_whole(path, format_safetensors(archive_of(row)));
}

}  // namespace

int run_check(const CheckOptions& options) {
  const Case given = read_case(options.case_path, options.overrides);
  const Outputs answers =
      options.result_path.empty() ? given.outputs : read_outputs(options.result_path, given.problem);
  require(!answers.empty(), "CAS.C8", "nothing to check: no out, lse, weights or scores in {}",
          options.result_path.empty() ? options.case_path : options.result_path);
  if (!options.dump_worst.empty()) {
    require_writable(options.dump_worst, options.case_path);
    require_writable(options.dump_worst, options.result_path);
  }
  const Report report = report_on(options, given.problem, answers);
  if (!options.dump_worst.empty()) dump_worst_row(options.dump_worst, report, given, answers);
  fmt::print("{}", options.json ? json_of(report) : text_of(report));
  return judge(report).verdict == Verdict::not_accepted ? 1 : 0;
}

}  // namespace attest
