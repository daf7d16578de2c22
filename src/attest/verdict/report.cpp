#include "attest/verdict/report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attest/verdict/page.hpp"

namespace attest {

namespace {

std::string number(double x) { return fmt::format("{} ({:a})", x, x); }

std::string due(const Element& element) {
  if (element.lower == element.upper || std::isnan(element.lower)) return number(element.upper);
  return fmt::format("{} or {}", number(element.lower), number(element.upper));
}

std::string steps_text(std::uint64_t steps) {
  return steps == unreachable ? "unreachable (NaN)" : fmt::format("{} steps", steps);
}

void add_output(std::string& text, const Comparison& c) {
  const double share =
      c.elements == 0 ? 100.0 : 100.0 * static_cast<double>(c.correctly_rounded) / static_cast<double>(c.elements);
  text += fmt::format("\n{}  {} {}\n", c.name, parameters(c.format).name, to_string(c.shape));
  text += fmt::format("  {} elements, {} correctly rounded ({:.2f} %), {} undecided; settled at {} bits\n", c.elements,
                      c.correctly_rounded, share, c.undecided, c.bits);
  if (c.by_steps && c.by_steps->steps > 0) {
    text += fmt::format("  farthest in steps: {} at {}, {:.4g} units\n    answer {}\n    due    {}\n",
                        steps_text(c.by_steps->steps), position(c, c.by_steps->element), c.by_steps->units,
                        number(c.by_steps->answer), due(c.by_steps->due));
  }
  if (c.by_units && c.by_units->units > 0) {
    text += fmt::format("  farthest in units of {}: {:.4g} at {}\n    answer {}\n    due    {}\n", c.unit,
                        c.by_units->units, position(c, c.by_units->element), number(c.by_units->answer),
                        due(c.by_units->due));
  }
  if (c.padding > 0) text += fmt::format("  {} elements lie in padding rows and are not judged\n", c.padding);
  if (c.empty_rows > 0)
    text +=
        fmt::format("  {} empty rows (no visible key), {} elements of them wrong\n", c.empty_rows, c.empty_wrong.count);
  if (c.negative_zeros > 0)
    text += fmt::format("  {} answers are -0 where 0 is correctly rounded: counted, not held against it\n",
                        c.negative_zeros);
}

/// present_k and present_v are copies: any difference is a mistake, whatever the limit.
std::optional<std::uint64_t> limit_of(const Comparison& c, const std::optional<std::uint64_t>& max_ulp) {
  return c.name.starts_with("present") ? 0 : max_ulp;
}

/// The greatest distance in units, of whichever output.
std::string farthest(const Report& report) {
  const Comparison* worst = nullptr;
  for (const Comparison& c : report.outputs) {
    if (c.by_units && (!worst || c.by_units->units > worst->by_units->units)) worst = &c;
  }
  if (!worst || worst->by_units->units == 0) return "every element is exact";
  return fmt::format("{} is up to {:.4g} units away", worst->name, worst->by_units->units);
}

std::string headline(const Report& report, const Judgement& judgement) {
  switch (judgement.verdict) {
    case Verdict::measured:
      return fmt::format("measured, not judged: the structure is sound, no limit was given; {}", farthest(report));
    case Verdict::accepted:
      return fmt::format("accepted: every element lies within {} steps of the certified value", *report.max_ulp);
    case Verdict::not_accepted:
      return fmt::format("NOT ACCEPTED: {}", fmt::join(judgement.reasons, "\n              "));
  }
  return {};
}

}  // namespace

Judgement judge(const Report& report) {
  Judgement result{report.max_ulp ? Verdict::accepted : Verdict::measured, {}};
  for (const Comparison& c : report.outputs) {
    std::ranges::copy(structural_faults(c), std::back_inserter(result.reasons));
    const std::optional<std::uint64_t> limit = limit_of(c, report.max_ulp);
    if (limit && c.by_steps && c.by_steps->steps > *limit) {
      result.reasons.push_back(fmt::format("{}: {} away at {}, {} allowed", c.name, steps_text(c.by_steps->steps),
                                           position(c, c.by_steps->element), *limit));
    }
  }
  if (!result.reasons.empty()) result.verdict = Verdict::not_accepted;
  return result;
}

std::string text_of(const Report& report) {
  std::string text = headline(report, judge(report)) + "\n\n";
  text += fmt::format("case  {}\n", printable(report.case_name));
  for (const auto& [name, shape] : report.inputs) text += fmt::format("  {} {}", name, to_string(shape));
  text += "\ncall\n";
  std::size_t widest = 16;
  for (const auto& [key, value] : report.record) widest = std::max(widest, key.size());
  for (const auto& [key, value] : report.record) text += fmt::format("  {:<{}} {}\n", key, widest, value);
  for (const Comparison& c : report.outputs) add_output(text, c);
  return text;
}

}  // namespace attest
