/// Chapter 04: softmax over the visible keys.

#include "attest/definitions/softmax.hpp"

#include "support/property.hpp"
#include "support/rows.hpp"

namespace attest {
namespace {

PROPERTY(SMX_P1, softmax_rows_sum_to_one) {
  const MaskedRow row = *masked_rows();
  RC_CLASSIFY(row.keys().empty(), "empty row");
  RC_CLASSIFY(row.keys().size() == 1, "one visible key");
  RC_PRE(!row.keys().empty());
  with_precision(property_bits, [&] {
    const Vector<Enclosure> weights = masked_softmax(row_of(row.scores_in<Enclosure>()), row.visible_row());
    const Enclosure sum = sum_over<Enclosure>(weights.size(), [&](std::size_t j) { return weights(j); });
    RC_ASSERT(is_narrow(sum));
    RC_ASSERT(contains(sum, 1));
  });
}

/// Any magnitude behind the mask, infinities and NaN included, changes no bit; nor does scaling let a hidden key in.
template <class T>
void hidden_scores_do_not_matter(const MaskedRow& row, const std::vector<double>& behind, double scale) {
  const Vector<T> plain = row.scores_in<T>();
  Vector<T> disturbed = plain;
  Vector<T> scaled = tabulate(plain.size(), [&](std::size_t j) -> T { return lift<T>(scale) * plain(j); });
  Vector<T> scaled_disturbed = scaled;
  for (std::size_t j = 0; j < plain.size(); ++j) {
    if (row.visible[j]) continue;
    disturbed(j) = lift<T>(behind[j]);
    scaled_disturbed(j) = lift<T>(scale) * disturbed(j);
  }
  RC_ASSERT(same_bits(masked_softmax(row_of(plain), row.visible_row()),
                      masked_softmax(row_of(disturbed), row.visible_row())));
  const Vector<T> weights = masked_softmax(row_of(scaled_disturbed), row.visible_row());
  RC_ASSERT(same_bits(weights, masked_softmax(row_of(scaled), row.visible_row())));
  for (std::size_t j = 0; j < plain.size(); ++j) RC_ASSERT(row.visible[j] || same_bits(weights(j), T(0)));
}

PROPERTY(SMX_P2, masking_is_invariant_to_score_scale) {
  const MaskedRow row = *masked_rows();
  const double inf = std::numeric_limits<double>::infinity();
  const auto behind = *rc::gen::container<std::vector<double>>(
      row.scores.size(), rc::gen::element(1e9, -1e9, 1e308, -1e308, inf, -inf, std::nan(""), 0x1p-1070));
  const double scale = *rc::gen::element(1.0, -1.0, 0.0, 0x1p-40, 0x1p100);
  RC_CLASSIFY(row.keys().empty(), "empty row");
  hidden_scores_do_not_matter<double>(row, behind, scale);
  hidden_scores_do_not_matter<float>(row, behind, scale);
  hidden_scores_do_not_matter<RoundedBF16>(row, behind, scale);
}

template <class T>
void an_empty_row_is_zero(const MaskedRow& row) {
  const Vector<T> scores = row.scores_in<T>();
  const std::unique_ptr<bool[]> hidden(new bool[scores.size()]());
  const Vector<T> weights = masked_softmax(row_of(scores), Row<bool>(hidden.get(), scores.size()));
  RC_ASSERT(weights.size() == scores.size());
  for (const T& w : weights) RC_ASSERT(same_bits(w, T(0)));
  RC_ASSERT(!log_sum_exp(Row<T>()).has_value());
}

PROPERTY(SMX_P3, empty_rows_are_zero) {
  const MaskedRow row = *masked_rows();
  an_empty_row_is_zero<double>(row);
  an_empty_row_is_zero<float>(row);
  an_empty_row_is_zero<RoundedF16>(row);
}

PROPERTY(SMX_P4, softmax_is_shift_invariant) {
  const std::vector<double> scores = *rows(*between<std::size_t>(1, 9));
  const double t = *rc::gen::element(1.0, -0.375, 1024.0, -0x1p40);
  with_precision(property_bits + 64, [&] {
    const Vector<Enclosure> plain = lifted<Enclosure>(scores);
    const Vector<Enclosure> shifted =
        tabulate(plain.size(), [&](std::size_t j) -> Enclosure { return plain(j) + Enclosure(t); });
    RC_ASSERT(is_narrow(softmax(row_of(plain))));
    RC_ASSERT(meet(softmax(row_of(plain)), softmax(row_of(shifted))));
  });
}

PROPERTY(SMX_P5, result_is_independent_of_the_shift) {
  const std::vector<double> scores = *rows(*between<std::size_t>(1, 9));
  const double c = *rc::gen::element(0.0, 3.25, -17.0, 60.0);
  with_precision(property_bits + 64, [&] {
    const Vector<Enclosure> s = lifted<Enclosure>(scores);
    const Exponentials<Enclosure> own = exponentials(row_of(s));
    const Exponentials<Enclosure> other = exponentials(row_of(s), Enclosure(c));
    for (std::size_t j = 0; j < scores.size(); ++j) {
      RC_ASSERT(meet(Enclosure(own.terms(j) / own.total), Enclosure(other.terms(j) / other.total)));
    }
    RC_ASSERT(meet(Enclosure(own.shift + log(own.total)), Enclosure(other.shift + log(other.total))));
  });
}

PROPERTY(SMX_P6, weights_lie_between_zero_and_one) {
  const MaskedRow row = *masked_rows();
  with_precision(property_bits, [&] {
    const Vector<Enclosure> weights = masked_softmax(row_of(row.scores_in<Enclosure>()), row.visible_row());
    for (std::size_t j = 0; j < weights.size(); ++j) {
      RC_ASSERT(is_narrow(weights(j)));
      const bool due = row.visible[j] ? lower_end(weights(j)) > 0 : upper_end(weights(j)) == 0;
      RC_ASSERT(due);
      RC_ASSERT(lower_end(weights(j)) <= 1);
    }
  });
  for (const double w : masked_softmax(row_of(row.scores_in<double>()), row.visible_row())) RC_ASSERT(w >= 0 && w <= 1);
}

PROPERTY(SMX_P7, sink_takes_exactly_its_share) {
  const std::vector<double> scores = *rows(*between<std::size_t>(0, 7));
  const double sink = *rc::gen::element(0.0, 1.5, -3.0, 20.0);
  RC_CLASSIFY(scores.empty(), "no key beside the sink");
  with_precision(property_bits, [&] {
    const Vector<Enclosure> s = lifted<Enclosure>(scores);
    const Vector<Enclosure> weights = sink_softmax(row_of(s), Enclosure(sink));
    const Enclosure sum = sum_over<Enclosure>(weights.size(), [&](std::size_t j) { return weights(j); });
    const Vector<Enclosure> joined = append(row_of(s), Enclosure(sink));
    const Enclosure share = exp(Enclosure(Enclosure(sink) - *log_sum_exp(row_of(joined))));
    RC_ASSERT(meet(sum, Enclosure(Enclosure(1) - share)));
    const Vector<Enclosure> without = softmax(row_of(s));
    for (std::size_t j = 0; j < s.size(); ++j) {
      RC_ASSERT(meet(weights(j), Enclosure((Enclosure(1) - share) * without(j))));
    }
    RC_ASSERT(lower_end(Enclosure(Enclosure(1) - sum)) > 0 || upper_end(share) < 0x1p-80);
  });
}

PROPERTY(SMX_P12, all_visible_mask_is_no_mask) {
  const std::vector<double> scores = *rows(*between<std::size_t>(0, 9));
  const std::vector<char> every(scores.size(), 1);
  const Row<bool> visible(reinterpret_cast<const bool*>(every.data()), every.size());
  RC_ASSERT(
      same_bits(masked_softmax(row_of(lifted<double>(scores)), visible), softmax(row_of(lifted<double>(scores)))));
  RC_ASSERT(same_bits(masked_softmax(row_of(lifted<float>(scores)), visible), softmax(row_of(lifted<float>(scores)))));
}

PROPERTY(SMX_P13, duplicating_a_key_adds_ln_two) {
  const std::vector<double> scores = *rows(*between<std::size_t>(1, 8));
  const std::size_t k = *between<std::size_t>(0, scores.size());
  with_precision(property_bits, [&] {
    const Vector<Enclosure> s = lifted<Enclosure>(scores);
    const Vector<Enclosure> twice = append(row_of(s), s(k));
    Vector<Enclosure> raised = s;
    raised(k) = s(k) + log(Enclosure(2));
    const Vector<Enclosure> by_copy = softmax(row_of(twice));
    const Vector<Enclosure> by_score = softmax(row_of(raised));
    for (std::size_t j = 0; j < scores.size(); ++j) {
      const Enclosure copies = j == k ? Enclosure(by_copy(k) + by_copy(scores.size())) : by_copy(j);
      RC_ASSERT(meet(copies, by_score(j)));
    }
    const Enclosure growth = log(Enclosure(Enclosure(1) + softmax(row_of(s))(k)));
    RC_ASSERT(meet(Enclosure(*log_sum_exp(row_of(twice)) - *log_sum_exp(row_of(s))), growth));
    RC_ASSERT(meet(*log_sum_exp(row_of(twice)), *log_sum_exp(row_of(raised))));
  });
}

PROPERTY(SMX_P14, lse_shifts_with_the_scores) {
  const std::vector<double> scores = *rows(*between<std::size_t>(1, 9));
  const double t = *rc::gen::element(1.0, -0.375, 1024.0, -4096.0);
  with_precision(property_bits, [&] {
    const Vector<Enclosure> s = lifted<Enclosure>(scores);
    const Vector<Enclosure> shifted =
        tabulate(s.size(), [&](std::size_t j) -> Enclosure { return s(j) + Enclosure(t); });
    RC_ASSERT(is_narrow(*log_sum_exp(row_of(s))));
    RC_ASSERT(meet(*log_sum_exp(row_of(shifted)), Enclosure(*log_sum_exp(row_of(s)) + Enclosure(t))));
  });
}

/// The scores are exact in T, so the only errors are those of softmax itself.
template <class T>
void results_are_within_their_bounds(const std::vector<double>& scores, const FloatModel& model) {
  with_precision(property_bits, [&] {
    const Vector<Enclosure> exact = lifted<Enclosure>(scores);
    const Vector<Enclosure> weights = softmax(row_of(exact));
    const Enclosure lse = *log_sum_exp(row_of(exact));
    const RowErrors errors = row_errors({exact.begin(), exact.end()}, std::vector(scores.size(), Enclosure(0)), model);
    const Vector<T> computed = softmax(row_of(lifted<T>(scores)));
    for (std::size_t j = 0; j < scores.size(); ++j) {
      RC_ASSERT(within(computed(j), weights(j), weight_bound(weights(j), errors, model)));
    }
    for (const LseBase base : {LseBase::e, LseBase::two}) {
      const T answer = lse_in_base(*log_sum_exp(row_of(lifted<T>(scores))), base);
      const Enclosure due = lse_in_base(lse, base);
      RC_ASSERT(within(answer, due, lse_bound(due, scores.size(), errors, base, model)));
    }
  });
}

PROPERTY(SMX_P15, every_visible_result_is_within_its_bound) {
  const std::vector<double> scores = *rows(*between<std::size_t>(1, 12));
  results_are_within_their_bounds<double>(scores, float_model(Format::f64));
  results_are_within_their_bounds<float>(scores, float_model(Format::f32));
}

}  // namespace
}  // namespace attest
