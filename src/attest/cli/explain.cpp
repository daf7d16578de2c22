#include <fmt/format.h>

#include "attest/cli/certify_shown.hpp"
#include "attest/cli/commands.hpp"
#include "attest/cli/option_values.hpp"
#include "attest/definitions/layer.hpp"
#include "attest/files/case.hpp"
#include "attest/verdict/compare.hpp"
#include "attest/verdict/explain_keys.hpp"
#include "attest/verdict/explain_row.hpp"
#include "attest/verdict/page.hpp"

namespace attest {

namespace {

using Outputs = std::map<OutputName, Output>;

/// The row that is explained, and why this one.
struct Chosen {
  std::size_t b, h, i;
  std::string why;
};

Chosen asked_row(const ExplainOptions& options, const Extents& n) {
  const QueryRow row = query_row_named(options.row, n);
  return {row.b, row.h, row.i, "as asked"};
}

/// The output by which the worst row is chosen: `out` if it is there, else the first that has rows.
const std::pair<const OutputName, Output>* blamed(const Outputs& answers) {
  const auto out = answers.find("out");
  if (out != answers.end()) return &*out;
  const auto found =
      std::find_if(answers.begin(), answers.end(), [](const auto& one) { return has_query_rows(one.first); });
  return found == answers.end() ? nullptr : &*found;
}

Chosen worst_row(const Case& given, const OutputName& name, const Output& answer) {
  const Problem& problem = given.problem;
  const auto certified = certify_shown(given, {{name, answer.format}});
  const Comparison compared = compare(name, certified.at(name), answer.values, problem, row_states(problem));
  if (!compared.by_units) return {0, 0, 0, "the first; no row is judged"};
  if (compared.by_units->units == 0) return {0, 0, 0, fmt::format("{} is exact in every row", name)};
  const std::vector<std::size_t> at = unravel(compared.by_units->element, compared.shape);
  return {at[0], at[1], at[2], fmt::format("of all rows the one whose {} is farthest off, in units", name)};
}

Chosen choose(const ExplainOptions& options, const Case& given) {
  const Extents n = extents(given.problem.inputs);
  require(n.batch * n.q_heads * n.queries > 0, "CAS.C7", "--row: the case has no query rows");
  if (!options.row.empty()) return asked_row(options, n);
  const auto* answer = blamed(given.outputs);
  return answer ? worst_row(given, answer->first, answer->second) : Chosen{0, 0, 0, "the first"};
}

/// The answers to one row of the call.
std::map<std::string, RowAnswer> answers_to(const Chosen& at, const Outputs& answers) {
  std::map<std::string, RowAnswer> row;
  for (const auto& [name, output] : answers) {
    if (!has_query_rows(name)) continue;
    const Tensor<double>& t = output.values;
    const bool flat = name == "lse";
    std::vector<double> values(flat ? 1 : t.shape(3));
    for (std::size_t c = 0; c < values.size(); ++c) values[c] = flat ? t(at.b, at.h, at.i) : t(at.b, at.h, at.i, c);
    row.emplace(name, RowAnswer{output.format, std::move(values)});
  }
  return row;
}

std::string title(const ExplainOptions& options, const Case& given, const Chosen& at) {
  const auto shape = [](const Tensor<double>& t) { return to_string(Shape(t.shape().begin(), t.shape().end())); };
  const Inputs& in = given.problem.inputs;
  return fmt::format("row (b {}, h {}, i {}): {}\n{}\n  q {}  k {}  v {}  convention {}\n", at.b, at.h, at.i, at.why,
                     printable(options.case_path), shape(in.q), shape(in.k), shape(in.v),
                     given.problem.call.convention);
}

ExplainedRow row_at(const Problem& problem, const Problem& finite, const Chosen& at, const Outputs& answers) {
  const auto operands = [&problem, &finite, at] {
    return EnclosedHead{head_of<Enclosure>(finite, at.b, at.h, {at.i}), head_of<double>(problem, at.b, at.h, {at.i}),
                        all_finite(problem.inputs)};
  };
  return {operands, problem.call, bias_formula(problem, at.b, at.h, at.i), answers_to(at, answers)};
}

bool is_padding(const Problem& problem, const Chosen& at) {
  const Extents n = extents(problem.inputs);
  return row_states(problem)[(at.b * n.q_heads + at.h) * n.queries + at.i] == RowState::padding;
}

int explain_case(const ExplainOptions& options, const Case& given) {
  const Problem& problem = given.problem;
  const Chosen at = choose(options, given);
  const Problem finite = finite_part(problem);
  std::string text = title(options, given, at) + explain_keys(problem, at.b, at.h, at.i);
  const bool padding = is_padding(problem, at);
  if (padding) text += "           The row is padding: its answer is nobody's business, and check does not judge it.\n";
  text += explain_row(row_at(problem, finite, at, padding ? Outputs() : given.outputs));
  fmt::print("{}`attest spec ID` prints an equation.\n", text);
  return 0;
}

/// The row of a layer whose output is farthest off; its first head stands for it.
Chosen worst_query(const LayerCase& given) {
  const auto answer = given.outputs.find("out");
  if (answer == given.outputs.end()) return {0, 0, 0, "the first"};
  const auto certified = certify_shown(given, {{"out", answer->second.format}});
  const Comparison compared = compare("out", certified.at("out"), answer->second.values, given.problem);
  if (!compared.by_units) return {0, 0, 0, "the first; no row is judged"};
  if (compared.by_units->units == 0) return {0, 0, 0, "out is exact in every row"};
  const std::vector<std::size_t> at = unravel(compared.by_units->element, compared.shape);
  return {at[0], 0, at[1], "head 0 of the query whose out is farthest off, in units"};
}

/// A head of a layer: the walk begins at its projected operands.
int explain_case(const ExplainOptions& options, const LayerCase& given) {
  const LayerProblem& layer = given.problem;
  const Problem inner = inner_problem(layer);
  const Extents n = extents(inner.inputs);
  require(n.batch * n.queries > 0, "CAS.C7", "--row: the case has no query rows");
  const Chosen at = options.row.empty() ? worst_query(given) : asked_row(options, n);
  const auto operands = [&] {
    auto enclosed = layer_heads<Enclosure>(layer, inner, at.b, {at.i});
    auto rounded = layer_heads<double>(layer, inner, at.b, {at.i});
    return EnclosedHead{std::move(enclosed[at.h]), std::move(rounded[at.h]), true};
  };
  Outputs answers;
  if (const auto weights = given.outputs.find("weights"); weights != given.outputs.end()) answers.insert(*weights);
  std::string text =
      fmt::format("row (b {}, h {}, i {}): {}\n{}\n", at.b, at.h, at.i, at.why, printable(options.case_path));
  text += fmt::format("  a layer of {} heads, convention {}; q, k, v are its projected operands (MHA.D10),\n",
                      n.q_heads, inner.call.convention);
  text += fmt::format("  of widths {} and {}; {} of the {} keys are added ones (MHA.D9)\n", n.width, n.value_width,
                      added_keys(layer), n.keys);
  text += explain_keys(inner, at.b, at.h, at.i);
  text += explain_row({operands, inner.call, bias_formula(inner, at.b, at.h, at.i), answers_to(at, answers)});
  fmt::print("{}`attest spec ID` prints an equation.\n", text);
  return 0;
}

int explain_case(const ExplainOptions& options, const NodeCase&) {
  require(false, "CAS.C17", "{}: an attention call or a layer, got a node beside attention", options.case_path);
  return 2;
}

}  // namespace

int run_explain(const ExplainOptions& options) {
  const AnyCase any = read_any_case(options.case_path, options.overrides);
  return std::visit([&](const auto& given) { return explain_case(options, given); }, any);
}

}  // namespace attest
