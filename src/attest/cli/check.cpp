#include <fmt/format.h>

#include <algorithm>

#include "attest/cli/certify_shown.hpp"
#include "attest/cli/commands.hpp"
#include "attest/files/whole_file.hpp"

namespace attest {

namespace {

Formats formats_of(const Outputs& outputs) {
  Formats formats;
  for (const auto& [name, output] : outputs) formats.emplace(name, output.format);
  return formats;
}

/// The comparisons, `out` first: it is what people look for.
template <class Given>
std::vector<Comparison> compared(const Given& given, const Outputs& answers) {
  std::vector<Comparison> outputs = compare(given, certify_shown(given, formats_of(answers)), answers);
  std::stable_partition(outputs.begin(), outputs.end(), [](const Comparison& c) { return c.name == "out"; });
  return outputs;
}

template <class Given>
Report report_on(const CheckOptions& options, const Given& given, const Outputs& answers) {
  return {.case_name = options.case_path,
          .record = record_of(given),
          .inputs = input_shapes(given),
          .outputs = compared(given, answers),
          .max_ulp = options.max_ulp};
}

template <class Given>
int check_case(const CheckOptions& options, const Given& given) {
  const Outputs answers = options.result_path.empty() ? given.outputs : read_outputs(options.result_path, given);
  require(!answers.empty(), "CAS.C8", "nothing to check: no answers (out, lse, weights, ...) in {}",
          options.result_path.empty() ? options.case_path : options.result_path);
  if (!options.dump_worst.empty()) {
    require_query_rows(given);
    require_writable(options.dump_worst, options.case_path);
    require_writable(options.dump_worst, options.result_path);
  }
  const Report report = report_on(options, given, answers);
  if (!options.dump_worst.empty()) dump_worst_row(options.dump_worst, report, given, answers);
  fmt::print("{}", options.json ? json_of(report) : text_of(report));
  return judge(report).verdict == Verdict::not_accepted ? 1 : 0;
}

}  // namespace

int run_check(const CheckOptions& options) {
  const AnyCase any = read_any_case(options.case_path, options.overrides);
  return std::visit([&](const auto& given) { return check_case(options, given); }, any);
}

}  // namespace attest
