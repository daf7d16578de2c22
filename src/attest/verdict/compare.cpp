#include "attest/verdict/compare.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "attest/definitions/mask.hpp"

namespace attest {

namespace {

/// The last axis of weights and scores and the third of present_k and present_v is a key j.
std::vector<std::string> axes_of(const std::string& output) {
  if (output == "lse") return {"b", "h", "i"};
  if (output == "weights" || output == "scores" || output == "dbias") return {"b", "h", "i", "j"};
  if (output == "dsink") return {"h"};
  if (output == "dk" || output == "dv") return {"b", "h", "j", "c"};
  return {"b", "h", output.starts_with("present") ? "j" : "i", "c"};
}

std::string unit_of(const std::string& output) {
  if (output == "out") return "u sum w|v|";
  if (output == "lse") return "u (1 + sum w|s|)";
  if (output == "weights") return "u w(1 + |s| + sum w|s|)";
  if (output == "scores") return "u (|scale| sum |q k| + |bias|)";
  if (output == "dq") return "u |scale| sum m|k|";
  if (output == "dk") return "u |scale| sum m|q|";
  if (output == "dv") return "u |factor| sum w|dout|";
  if (output == "dbias") return "u sum m";
  if (output == "dsink") return "u sum w(sum w|dout v| + |dlse|)";
  return "u |x|";
}

Comparison empty_comparison(const std::string& name, const CertifiedTensor& due) {
  Comparison c;
  c.name = name;
  c.format = due.format;
  c.shape = due.shape;
  c.bits = due.bits;
  return c;
}

/// Which row of the call an element belongs to; present_k and present_v have none.
std::optional<std::size_t> row_of_element(const Comparison& c, std::size_t element) {
  if (!has_query_rows(c.name)) return std::nullopt;
  return c.name == "lse" ? element : element / c.shape.back();
}

void count_special(Comparison& c, std::size_t n, const Element& due, double answer) {
  const bool nan_due = std::isnan(due.lower) || std::isnan(due.upper);
  c.nan_unexpected.see(std::isnan(answer) && !nan_due, n);
  c.nan_missing.see(!std::isnan(answer) && std::isnan(due.lower) && std::isnan(due.upper), n);
  c.infinity_unexpected.see(std::isinf(answer) && !is_candidate(due, answer) && !nan_due, n);
  c.infinity_missing.see(std::isfinite(answer) && std::isinf(due.lower) && std::isinf(due.upper), n);
  c.negative_zeros += answer == 0 && std::signbit(answer) && is_candidate(due, 0.0);
}

void keep_worst(Comparison& c, const Worst& candidate) {
  if (!c.by_steps || candidate.steps > c.by_steps->steps) c.by_steps = candidate;
  if (!c.by_units || candidate.units > c.by_units->units) c.by_units = candidate;
}

void judge_element(Comparison& c, std::size_t n, const Element& due, double answer) {
  ++c.elements;
  c.correctly_rounded += is_candidate(due, answer);
  c.undecided += status_of(c.format, {due.lower, due.upper}) == Status::undecided;
  count_special(c, n, due, answer);
  keep_worst(c, {n, answer, due, distance_in_steps(c.format, due, answer), distance_in_units(due, answer)});
}

/// Judges every element that is not padding. A weight that is not 0 at a hidden key has leaked.
void judge_rows(Comparison& c, const CertifiedTensor& due, const Tensor<double>& answers,
                const std::function<RowState(std::size_t)>& state_of,
                const std::function<bool(std::size_t)>& is_hidden) {
  for (std::size_t e = 0; e < due.elements.size(); ++e) {
    const Element& element = due.elements[e];
    const double answer = answers.data()[e];
    const RowState state = state_of(e);
    if (state == RowState::padding) {
      ++c.padding;
      continue;
    }
    judge_element(c, e, element, answer);
    if (state == RowState::empty) c.empty_wrong.see(!is_candidate(element, answer), e);
    c.leaks.see(answer != 0 && !std::isnan(element.lower) && is_hidden(e), e);
  }
}

}  // namespace

bool is_candidate(const Element& due, double answer) {
  if (std::isnan(answer)) return std::isnan(due.lower) || std::isnan(due.upper);
  return answer == due.lower || answer == due.upper;
}

std::uint64_t distance_in_steps(Format format, const Element& due, double answer) {
  if (is_candidate(due, answer)) return 0;
  std::uint64_t nearest = unreachable;
  for (const double candidate : {due.lower, due.upper}) {
    if (std::isnan(candidate) || std::isnan(answer)) continue;
    nearest = std::min(nearest, steps_between(format, candidate, answer));
  }
  return nearest;
}

double distance_in_units(const Element& due, double answer) {
  if (std::isnan(due.exact) || std::isinf(due.exact)) {
    return is_candidate(due, answer) ? 0.0 : std::numeric_limits<double>::infinity();
  }
  if (!std::isfinite(answer)) return is_candidate(due, answer) ? 0.0 : std::numeric_limits<double>::infinity();
  const double difference = std::fabs((answer - due.exact) - due.exact_low);
  const double units = difference == 0 ? 0.0 : difference / due.unit;
  return std::isnan(units) ? std::numeric_limits<double>::infinity() : units;  // both beyond binary64
}

Comparison compare(const std::string& name, const CertifiedTensor& due, const Tensor<double>& answers) {
  Comparison c = empty_comparison(name, due);
  for (std::size_t e = 0; e < due.elements.size(); ++e) judge_element(c, e, due.elements[e], answers.data()[e]);
  return c;
}

Comparison compare(const std::string& name, const CertifiedTensor& due, const Tensor<double>& answers,
                   const Problem& problem, const std::vector<RowState>& rows) {
  Comparison c = empty_comparison(name, due);
  c.unit = unit_of(name);
  c.axes = axes_of(name);
  c.empty_rows = static_cast<std::size_t>(std::ranges::count(rows, RowState::empty));
  const Extents n = extents(problem.inputs);
  const auto state = [&](std::size_t e) {
    const std::optional<std::size_t> row = row_of_element(c, e);
    return row ? rows[*row] : RowState::ordinary;
  };
  const auto is_hidden = [&](std::size_t e) {
    if (name != "weights") return false;
    const std::vector<std::size_t> at = unravel(e, {n.batch, n.q_heads, n.queries, n.keys});
    return !is_visible(problem, at[0], at[1], at[2], at[3]);
  };
  judge_rows(c, due, answers, state, is_hidden);
  return c;
}

Comparison compare_gradient(const std::string& name, const CertifiedTensor& due, const Tensor<double>& answers,
                            const Problem& problem) {
  Comparison c = empty_comparison(name, due);
  c.unit = unit_of(name);
  c.axes = axes_of(name);
  const std::vector<RowState> states = gradient_states(name, problem);
  const std::size_t width = states.empty() ? 1 : due.elements.size() / states.size();
  const auto state = [&](std::size_t e) {
    return states[e / width] == RowState::padding ? RowState::padding : RowState::ordinary;
  };
  judge_rows(c, due, answers, state, [&](std::size_t e) { return states[e / width] == RowState::empty; });
  return c;
}

bool has_query_rows(const std::string& name) { return !name.starts_with("present") && !is_gradient(name); }

Comparison compare(const std::string& name, const CertifiedTensor& due, const Tensor<double>& answers,
                   const LayerProblem& problem) {
  const Problem inner = inner_problem(problem);
  const std::vector<RowState> rows = row_states(inner);
  if (name == "weights") return compare(name, due, answers, inner, rows);
  Comparison c = empty_comparison(name, due);
  const bool over_keys = name == "mean_weights";
  c.unit = over_keys ? "u mean w(1 + |s| + sum w|s|)" : "u (|bo| + sum |Wo| sum w (|x| |Wv| + |bv|))";
  c.axes = {"b", "i", over_keys ? "j" : "c"};
  const Extents n = extents(inner.inputs);
  const auto state = [&](std::size_t e) {  // a query is padding in every head or in none
    const std::size_t query = e / due.shape.back(), b = query / n.queries, i = query % n.queries;
    const RowState first = rows[b * n.q_heads * n.queries + i];
    return first == RowState::padding ? first : RowState::ordinary;
  };
  judge_rows(c, due, answers, state, [&](std::size_t e) { return over_keys && due.elements[e].unit == 0; });
  return c;
}

std::vector<std::string> structural_faults(const Comparison& c) {
  std::vector<std::string> faults;
  const auto add = [&](const Fault& fault, std::string_view what) {
    if (fault.count == 0) return;
    faults.push_back(fmt::format("{}: {} {}, first at {}", c.name, fault.count, what, position(c, fault.first)));
  };
  add(c.nan_unexpected, "NaN where a number is due");
  add(c.nan_missing, "numbers where NaN is due");
  add(c.infinity_unexpected, "infinities where a number is due, or of the wrong sign");
  add(c.infinity_missing, "numbers where an infinity is due");
  add(c.empty_wrong, "elements of empty rows that are not what the call says an empty row is");
  add(c.leaks, is_gradient(c.name) ? "gradients that are not 0 where no visible pair of query and key leads"
                                   : "weights of hidden keys that are not 0");
  return faults;
}

std::vector<std::size_t> unravel(std::size_t element, const Shape& shape) {
  std::vector<std::size_t> index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return index;
}

std::string position(const Comparison& c, std::size_t element) {
  std::vector<std::string> parts;
  const std::vector<std::size_t> index = unravel(element, c.shape);
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    const bool named = axis < c.axes.size();
    parts.push_back(named ? fmt::format("{} {}", c.axes[axis], index[axis]) : std::to_string(index[axis]));
  }
  return fmt::format("({})", fmt::join(parts, ", "));
}

}  // namespace attest
