#include "attest/verdict/certificate_head.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "attest/definitions/attention.hpp"
#include "attest/verdict/certificate_claim.hpp"
#include "attest/verdict/rows.hpp"

namespace attest {

namespace {

/// Enough for sums and products of a few binary64 to be exact.
constexpr int exact_bits = 4400;

std::string table_text(std::size_t rows, std::size_t columns, auto&& entry) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<std::string> line;
    for (std::size_t c = 0; c < columns; ++c) line.push_back(entry(i, c));
    lines.push_back(fmt::format("[{}]", fmt::join(line, "; ")));
  }
  return fmt::format("\n  [{}]", fmt::join(lines, ";\n   "));
}

std::string numbers_text(std::string_view name, const Matrix<Enclosure>& m) {
  return fmt::format(
      "Definition {} : matrix := numbers{}.\n", name,
      table_text(m.shape(0), m.shape(1), [&](std::size_t i, std::size_t c) { return hex_text(lower_end(m(i, c))); }));
}

/// True is 1.
std::string bits_text(std::string_view name, const Matrix<bool>& m) {
  return fmt::format("Definition {} := bits{}%nat.\n", name,
                     table_text(m.shape(0), m.shape(1),
                                [&](std::size_t i, std::size_t j) -> std::string { return m(i, j) ? "1" : "0"; }));
}

/// A number as the argument of a function.
std::string argument(const Point& x) { return x < 0 ? fmt::format("({})", hex_text(x)) : hex_text(x); }

std::string scale_text(const Call& call, std::size_t width) {
  return call.scale ? hex_text(*call.scale) : fmt::format("1 / sqrt {}", width);
}

std::string value_factor_text(const Head<Enclosure>& head, const std::optional<double>& dropout) {
  const std::string descale = hex_text(lower_end(head.output_scale));
  if (!dropout) return descale;
  return *dropout == 1 ? "0" : fmt::format("{} / (1 - {})", descale, hex_text(*dropout));
}

std::string_view place_text(BiasPosition place) {
  switch (place) {
    case BiasPosition::inside_scale: return "inside_scale";
    case BiasPosition::before_softcap: return "before_softcap";
    case BiasPosition::after_softcap: return "after_softcap";
  }
  return {};
}

std::string optional_text(const std::optional<Enclosure>& x) {
  return x ? fmt::format("Some {}", argument(lower_end(*x))) : "None";
}

/// The head without scale and dropout: its numbers are those of the inputs, or products of two.
Head<Enclosure> exact_head(Problem problem, std::size_t b, std::size_t h) {
  problem.call.scale = 1.0;
  problem.call.dropout.reset();
  problem.inputs.kept.reset();
  return head_of<Enclosure>(problem, b, h, all_indices(extents(problem.inputs).queries));
}

Matrix<bool> kept_of(const Problem& problem, std::size_t b, std::size_t h) {
  const Extents n = extents(problem.inputs);
  return tabulate(n.queries, n.keys,
                  [&](std::size_t i, std::size_t j) -> bool { return (*problem.inputs.kept)(b, h, i, j); });
}

/// The cotangents of a head; what counts as 0 for `certify_gradients` is 0.
std::string cotangents_text(const Problem& problem, std::size_t b, std::size_t h, const Cotangents& given) {
  const Extents n = extents(problem.inputs);
  const std::vector<RowState> states = row_states(problem);
  const auto counted = [&](std::size_t i, double x) {
    const bool padding = states[(b * n.q_heads + h) * n.queries + i] == RowState::padding;
    return Enclosure(padding || !std::isfinite(x) ? 0.0 : x);
  };
  const auto out = [&](std::size_t i, std::size_t c) { return counted(i, given.out(b, h, i, c)); };
  const auto lse = [&](std::size_t, std::size_t i) {
    return given.lse ? counted(i, (*given.lse)(b, h, i)) : Enclosure(0);
  };
  return numbers_text("g", tabulate(n.queries, n.value_width, out)) +
         numbers_text("of_lse", tabulate(1, n.queries, lse)) +
         fmt::format(
             "Definition x : operands := Operands Q K V bias sink_logit.\n"
             "Definition base : lse_form := LseForm {} {}.\n",
             problem.call.sink_in_lse, problem.call.lse_base == LseBase::two);
}

}  // namespace

std::string head_text(const Problem& problem, std::size_t b, std::size_t h,
                      const std::optional<Cotangents>& cotangents) {
  const PrecisionScope scope(exact_bits);
  const Call& call = problem.call;
  const Extents n = extents(problem.inputs);
  const Head<Enclosure> head = exact_head(problem, b, h);
  std::string text = numbers_text("Q", head.queries) + numbers_text("K", head.keys) + numbers_text("V", head.values);
  text += head.bias ? numbers_text("bias", *head.bias) : "Definition bias : matrix := no_bias.\n";
  text += bits_text("seen", head.visible);
  text += problem.inputs.kept ? bits_text("keeps", kept_of(problem, b, h)) : "Definition keeps := keep_all.\n";
  text += fmt::format("Definition sink_logit : option R := {}.\n", optional_text(head.sink));
  text += fmt::format(
      "Definition h : head := {{|\n"
      "  width := {}; key_count := {};\n"
      "  scale := {}; descale := {}; value_factor := {};\n"
      "  cap := {}; place := {}; visible := seen; kept := keeps |}}.\n",
      n.width, n.keys, scale_text(call, n.width), hex_text(lower_end(head.scale)),
      value_factor_text(head, call.dropout), optional_text(head.softcap), place_text(call.bias_position));
  return cotangents ? text + cotangents_text(problem, b, h, *cotangents) : text;
}

}  // namespace attest
