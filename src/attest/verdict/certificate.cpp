#include "attest/verdict/certificate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>

#include "attest/certify/row.hpp"
#include "attest/certify/units.hpp"
#include "attest/verdict/certificate_claim.hpp"
#include "attest/verdict/certificate_head.hpp"
#include "attest/verdict/rows.hpp"

namespace attest {

namespace {

constexpr int bits = 256;             ///< in which a row is evaluated
constexpr int logit_digits = 90;      ///< a logit is claimed to within 2^-90 of the size of its terms
constexpr int margin_digits = 80;     ///< and what depends on logits is provable to within 2^-80
constexpr double widest_row = 1024;   ///< products of query and key in a row
constexpr double widest_head = 8192;  ///< numbers
constexpr double greatest_logit = 1024;

constexpr std::string_view introduction =
    "(** A certificate (ENC.D12): results of an attention call, as theorems about the definitions of\n"
    "    proofs_notes/coq/Definitions.v. A number 0x3p-4 is 3 / 16, exactly. The numbers of the call come first.\n"
    "    Of a result, \"f64: y\" says that every real number between the two ends rounds to y in f64. *)\n"
    "From Attest Require Import Certificates.\n";

/// A theorem of the certificate and the tactic that proves it.
std::string theorem(std::string_view name, std::string_view statement, std::string_view proof) {
  return fmt::format("Theorem {} :\n  {}.\nProof. {}. Qed.\n", name, statement, proof);
}

/// A power of two above x, which is not negative.
Point power_above(double x) {
  constexpr auto limits = std::numeric_limits<double>();
  return ldexp(Point(1), std::ilogb(std::clamp(x, limits.min(), limits.max())) + 1);
}

/// The theorems of one row.
class RowTheorems {
 public:
  RowTheorems(const Problem& problem, const QueryRow& at, const CertificateParts& parts)
      : problem_(problem),
        parts_(parts),
        i_(at.i),
        operands_{head_of<Enclosure>(problem, at.b, at.h, {at.i}), head_of<double>(problem, at.b, at.h, {at.i}), true},
        row_(attend_row(operands_.head, 0)),
        values_(evaluate_row(operands_, 0, plain(problem.call), {true, true, true, false})) {
    for (const std::size_t j : row_.keys) {
      const double size = score_unit(operands_.given, 0, j, ScoreStage::biased) + operands_.given.softcap.value_or(0);
      require(size <= greatest_logit, "ENC.C3", "a certificate has logits of terms of at most {} in all, got {} at {}",
              greatest_logit, size, fmt::format("({}, {}, {}, {})", at.b, at.h, at.i, j));
      size_ = std::max(size_, 1 + size);
    }
  }

  std::string text() const {
    std::string text = fmt::format("\n(** ** Query {} *)\n", i_) + keys_text();
    if (!row_.keys.empty()) text += logits_text();
    return text + lse_text() + outputs_text() + weights_text();
  }

  /// The gradient of the loss by this query; `dq` holds one element for each of its channels.
  std::string gradient_text(std::span<const Element> dq) const {
    std::string text;
    if (!row_.keys.empty()) text += weight_row_text();
    for (const std::size_t c : spread(dq.size(), parts_.elements)) {
      const std::string term = fmt::format("queries (head_gradient h base {} {} x g (of_lse 0%nat)) {}%nat {}%nat",
                                           extents(problem_.inputs).queries, row_.output.size(), i_, c);
      const Point exact = Point(dq[c].exact) + Point(dq[c].exact_low);
      text += element_text(fmt::format("dq_{}_{}", i_, c), term, exact, dq[c].unit / unit_roundoff(Format::f64),
                           fmt::format("certified_by_weights logits_{} weights_{}", i_, i_));
    }
    return text;
  }

 private:
  /// The call by the definition alone: no convention for empty rows, weights as softmax makes them.
  static Call plain(Call call) {
    call.empty_row = EmptyRow::zero;
    call.weights_are = WeightsAre::probabilities;
    return call;
  }

  std::string by_logits() const { return row_.keys.empty() ? "certified" : fmt::format("certified_by logits_{}", i_); }

  std::string keys_text() const {
    const std::string keys = row_.keys.empty() ? "[]" : fmt::format("[{}]%nat", fmt::join(row_.keys, "; "));
    return theorem(fmt::format("keys_{}", i_), fmt::format("row_keys h {} = {}", i_, keys), "by_definition");
  }

  std::string logits_text() const {
    const Point margin = ldexp(power_above(size_), -logit_digits);
    std::vector<std::string> claims;
    for (std::size_t n = 0; n < row_.keys.size(); ++n) {
      const std::string term = fmt::format("row_logits h Q K bias {} {}%nat", i_, row_.keys[n]);
      claims.push_back(text_of(enclosing_claim(row_.logits(n), margin), term));
    }
    return theorem(fmt::format("logits_{}", i_), fmt::format("{}", fmt::join(claims, " /\\\n  ")), "certified");
  }

  /// The weights once more, to as many digits as a gradient needs.
  std::string weight_row_text() const {
    std::vector<std::string> claims;
    for (std::size_t n = 0; n < row_.keys.size(); ++n) {
      const Enclosure& weight = row_.weights(n);
      const Point margin = ldexp(power_above(size_) * upper_end(weight), 2 - logit_digits);
      claims.push_back(text_of(enclosing_claim(weight, margin), fmt::format("weights_of h x {} {}", i_, row_.keys[n])));
    }
    return theorem(fmt::format("weights_{}", i_), fmt::format("{}", fmt::join(claims, " /\\\n  ")),
                   fmt::format("certified_by logits_{}", i_));
  }

  /// A result of the row whose first-order error is the unit, for relative errors of 1 in what it is made of (ENC.D6).
  std::string element_text(const std::string& name, const std::string& term, const Point& exact, double unit,
                           const std::string& proof) const {
    if (exact == 0 && unit == 0) return theorem(name, term + " = 0", "by_definition");
    const Claim claim = claim_of(parts_.format, exact, margin(unit));
    const std::string value = claim.rounded
                                  ? fmt::format("{}: {}", parameters(parts_.format).name, hex_text(*claim.rounded))
                                  : fmt::format("not one value of {}", parameters(parts_.format).name);
    return fmt::format("(** {} *)\n", value) + theorem(name, text_of(claim, term), proof);
  }

  std::string element_text(const std::string& name, const std::string& term, const Measured& result) const {
    const Enclosure& x = std::get<Enclosure>(result.value);
    if (upper_end(x) - lower_end(x) > margin(result.unit)) throw CannotAnswer(name + ": too wide for a certificate");
    return element_text(name, term, median(x), result.unit, by_logits());
  }

  Point margin(double unit) const { return ldexp(power_above(unit) * power_above(size_), -margin_digits); }

  std::string lse_text() const {
    if (!row_.lse) return {};
    const std::string sink = problem_.call.sink_in_lse ? "sink_logit" : "None";
    const std::string natural = fmt::format("row_lse h Q K bias {} {}", sink, i_);
    const bool two = problem_.call.lse_base == LseBase::two;
    return element_text(fmt::format("lse_{}", i_), two ? fmt::format("in_base_2 ({})", natural) : natural,
                        values_.lse[0]);
  }

  std::string outputs_text() const {
    std::string text;
    for (const std::size_t c : spread(values_.out.size(), parts_.elements)) {
      text += element_text(fmt::format("out_{}_{}", i_, c),
                           fmt::format("attend_row h Q K V bias sink_logit {} {}", i_, c), values_.out[c]);
    }
    return text;
  }

  /// Of visible keys, and of the first that is hidden.
  std::string weights_text() const {
    const auto term = [&](std::size_t j) { return fmt::format("row_weights h Q K bias sink_logit {} {}", i_, j); };
    std::string text;
    for (const std::size_t n : spread(row_.keys.size(), parts_.elements)) {
      const std::size_t j = row_.keys[n];
      text += element_text(fmt::format("weight_{}_{}", i_, j), term(j), values_.weights[j]);
    }
    for (std::size_t j = 0; j < values_.weights.size(); ++j) {
      if (operands_.head.visible(0, j)) continue;
      return text + theorem(fmt::format("weight_{}_{}", i_, j), term(j) + " = 0", "by_definition");
    }
    return text;
  }

  const Problem& problem_;
  const CertificateParts& parts_;
  const std::size_t i_;
  const EnclosedHead operands_;
  const AttendedRow<Enclosure> row_;
  const RowValues values_;
  double size_ = 1;  ///< of the terms that a logit is made of
};

void require_small(const Problem& problem) {
  const Extents n = extents(problem.inputs);
  const std::size_t row = n.keys * n.width, head = n.queries * (n.width + n.keys) + n.keys * (n.width + n.value_width);
  require(row <= widest_row, "ENC.C3", "a certificate has at most {} products of a query with keys, got {}", widest_row,
          row);
  require(head <= widest_head, "ENC.C3", "a certificate has at most {} numbers of a head, got {}", widest_head, head);
}

/// The elements of dq, for a call with cotangents.
std::vector<Element> query_gradients(const Problem& problem, const std::optional<Cotangents>& cotangents) {
  if (!cotangents) return {};
  return certify_gradients(problem, *cotangents, {{"dq", Format::f64}}, {.first = bits}).at("dq").elements;
}

std::string heading(const Problem& problem, const QueryRow& at) {
  const Extents n = extents(problem.inputs);
  const auto read = [&](std::size_t heads) { return key_head(at.h, n.q_heads, heads, problem.call.head_map); };
  return fmt::format("\n(** * Batch entry {}, query head {}, which reads key head {} and value head {} *)\n", at.b,
                     at.h, read(n.k_heads), read(n.v_heads));
}

}  // namespace

std::string certificate_of(const Problem& problem, const std::optional<Cotangents>& cotangents,
                           const CertificateParts& parts) {
  check(problem);
  require(all_finite(problem.inputs), "ENC.C2", "a certificate is of finite numbers, and q, k or v has others");
  require_small(problem);
  const Extents n = extents(problem.inputs);
  const std::vector<Element> dq = query_gradients(problem, cotangents);
  std::string text(introduction), module;
  for (const QueryRow& at : parts.rows) {
    const std::string name = fmt::format("batch_{}_head_{}", at.b, at.h);
    if (name != module) {
      if (!module.empty()) text += fmt::format("End {}.\n", module);
      text += heading(problem, at) + fmt::format("Module {}.\n", name) + head_text(problem, at.b, at.h, cotangents);
      module = name;
    }
    with_precision(bits, [&] {
      const RowTheorems row(problem, at, parts);
      text += row.text();
      if (cotangents) {
        const std::size_t first = ((at.b * n.q_heads + at.h) * n.queries + at.i) * n.width;
        text += row.gradient_text(std::span(dq).subspan(first, n.width));
      }
    });
  }
  return text + fmt::format("End {}.\n", module);
}

std::vector<std::size_t> spread(std::size_t n, std::size_t count) {
  if (count >= n) return all_indices(n);
  std::vector<std::size_t> chosen;
  for (std::size_t k = 0; k < count; ++k) chosen.push_back(count == 1 ? 0 : k * (n - 1) / (count - 1));
  return chosen;
}

std::vector<QueryRow> spread_rows(const Problem& problem, std::size_t count) {
  const Extents n = extents(problem.inputs);
  const std::vector<RowState> states = row_states(problem);
  std::vector<std::size_t> judged;
  for (std::size_t row = 0; row < states.size(); ++row) {
    if (states[row] != RowState::padding) judged.push_back(row);
  }
  std::set<std::size_t> chosen;
  for (const std::size_t place : spread(judged.size(), count)) chosen.insert(judged[place]);
  const auto empty = std::ranges::find(states, RowState::empty);
  if (empty != states.end()) chosen.insert(static_cast<std::size_t>(empty - states.begin()));
  std::vector<QueryRow> rows;
  for (const std::size_t row : chosen) {
    rows.push_back({row / n.queries / n.q_heads, row / n.queries % n.q_heads, row % n.queries});
  }
  return rows;
}

}  // namespace attest
