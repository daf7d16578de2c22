#include "attest/certify/row.hpp"

#include <limits>

#include "attest/certify/units.hpp"

namespace attest {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// An enclosure that contains 0 here is the point 0: a product of finite non-zero factors never reaches it.
int sign_of(const Enclosure& x) { return (lower_end(x) > 0) - (upper_end(x) < 0); }

Resolution resolution_of(const EnclosedHead& operands, std::size_t i) {
  if (!operands.finite) {
    return resolve(operands.given, i, sign_of(operands.head.scale), sign_of(operands.head.output_scale));
  }
  Resolution plain;
  plain.keys = visible_keys(row_of(operands.head.visible, i));
  plain.kinds.assign(plain.keys.size(), Kind::finite);
  plain.channels.resize(operands.head.values.shape(1));
  return plain;
}

/// The capped score of a key of this kind; an infinite score is softcapped to the cap itself.
Enclosure capped(const Head<Enclosure>& head, std::size_t i, std::size_t j, Kind kind) {
  if (kind == Kind::finite) return capped_score(head, i, j);
  return kind == Kind::plus_infinity ? *head.softcap : Enclosure(-*head.softcap);
}

AttendedRow<Enclosure> attend(const Head<Enclosure>& head, std::size_t i, const Resolution& resolved) {
  Vector<Enclosure> logits = tabulate(resolved.keys.size(), [&](std::size_t n) {
    return logit(head, i, resolved.keys[n], capped(head, i, resolved.keys[n], resolved.kinds[n]));
  });
  return attend_logits(head, i, resolved.keys, std::move(logits));
}

std::vector<Measured> outputs(const EnclosedHead& operands, std::size_t i, const Call& call, const Resolution& resolved,
                              const AttendedRow<Enclosure>& row, const Magnitudes& magnitudes, bool empty) {
  std::vector<Measured> out;
  for (std::size_t c = 0; c < row.output.size(); ++c) {
    std::optional<double> special = resolved.row ? resolved.row : resolved.channels[c];
    if (empty && call.empty_row == EmptyRow::nan) special = nan;
    out.push_back(
        {special ? Value(*special) : Value(row.output(c)), output_unit(magnitudes, row.keys, operands.given, i, c)});
  }
  return out;
}

Measured log_sum(const Call& call, const Resolution& resolved, const AttendedRow<Enclosure>& row,
                 const Magnitudes& magnitudes) {
  const double unit = lse_unit(magnitudes, call.lse_base);
  if (resolved.lse) return {*resolved.lse, unit};
  if (row.lse) return {*row.lse, unit};
  return {call.empty_row_lse == EmptyRowLse::minus_infinity ? -infinity : infinity, unit};
}

std::vector<Measured> dense_weights(const EnclosedHead& operands, std::size_t i, const Call& call,
                                    const Resolution& resolved, const AttendedRow<Enclosure>& row,
                                    const Magnitudes& magnitudes, bool empty) {
  const Head<Enclosure>& head = operands.head;
  const Value absent = empty && call.empty_row == EmptyRow::nan ? Value(nan) : Value(Enclosure(0));
  std::vector<Measured> weights(head.keys.shape(0), Measured{absent, 0.0});
  if (resolved.row) {
    for (const std::size_t j : visible_keys(row_of(head.visible, i))) weights[j].value = *resolved.row;
    return weights;
  }
  for (std::size_t n = 0; n < row.keys.size(); ++n) {
    const std::size_t j = row.keys[n];
    const bool dropped = call.weights_are == WeightsAre::dropped && head.kept;
    const bool kept = !dropped || (*head.kept)(i, j);
    const Enclosure weight =
        dropped ? (head.dropout ? kept_weight(row.weights(n), kept, *head.dropout) : Enclosure(0)) : row.weights(n);
    weights[j] = {weight, weight_unit(magnitudes, n)};
  }
  return weights;
}

/// ATT.D14 at (i, j), for every j: a hidden key has a scaled and a capped score, and -infinity once biased.
Measured score_at(const EnclosedHead& operands, std::size_t i, std::size_t j, ScoreStage stage) {
  const Head<Enclosure>& head = operands.head;
  const double unit = score_unit(operands.given, i, j, stage);
  if (stage == ScoreStage::biased && !head.visible(i, j)) return {-infinity, unit};
  const Kind kind = operands.finite ? Kind::finite
                                    : kind_of_score(row_of(operands.given.queries, i), row_of(operands.given.keys, j),
                                                    sign_of(head.scale));
  if (kind == Kind::nan) return {nan, unit};
  if (kind != Kind::finite && (stage == ScoreStage::scaled || !head.softcap)) {
    return {kind == Kind::plus_infinity ? infinity : -infinity, unit};
  }
  if (stage == ScoreStage::scaled) return {scaled_score(head, i, j), unit};
  const Enclosure at_cap = capped(head, i, j, kind);
  return {stage == ScoreStage::capped ? at_cap : logit(head, i, j, at_cap), unit};
}

}  // namespace

RowValues evaluate_row(const EnclosedHead& operands, std::size_t i, const Call& call, const RowWanted& wanted) {
  RowValues values;
  if (wanted.scores) {
    for (std::size_t j = 0; j < operands.head.keys.shape(0); ++j) {
      values.scores.push_back(score_at(operands, i, j, call.scores_stage));
    }
  }
  if (!wanted.out && !wanted.lse && !wanted.weights) return values;
  const Resolution resolved = resolution_of(operands, i);
  const AttendedRow<Enclosure> row = attend(operands.head, i, resolved);
  const Magnitudes magnitudes = magnitudes_of(row);
  const bool empty = visible_keys(row_of(operands.head.visible, i)).empty() && !operands.head.sink;
  if (wanted.out) values.out = outputs(operands, i, call, resolved, row, magnitudes, empty);
  if (wanted.lse) values.lse = {log_sum(call, resolved, row, magnitudes)};
  if (wanted.weights) values.weights = dense_weights(operands, i, call, resolved, row, magnitudes, empty);
  return values;
}

}  // namespace attest
