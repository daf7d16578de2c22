/// Chapter 04: the three forms in use that deviate from softmax over the visible keys, and by how much.

#include "support/property.hpp"
#include "support/rows.hpp"

namespace attest {
namespace {

/// eps, the weight that leaks to hidden keys in units of the visible ones: e^(leak - lse) for each hidden key, added
/// up.
Enclosure leak(const MaskedRow& row, const Vector<Enclosure>& hidden_scores) {
  const Vector<Enclosure> visible = gather(row_of(row.scores_in<Enclosure>()), row.keys());
  const Enclosure lse = *log_sum_exp(row_of(visible));
  return sum_over<Enclosure>(hidden_scores.size(),
                             [&](std::size_t j) { return exp(Enclosure(hidden_scores(j) - lse)); });
}

/// w / (1 + eps) at visible keys, the leaked share over 1 + eps at hidden ones.
void differs_by_its_leak(const MaskedRow& row, const Vector<Enclosure>& deviation,
                         const Vector<Enclosure>& hidden_scores) {
  const Vector<Enclosure> canonical = masked_softmax(row_of(row.scores_in<Enclosure>()), row.visible_row());
  const Enclosure eps = leak(row, hidden_scores);
  const Vector<Enclosure> visible = gather(row_of(row.scores_in<Enclosure>()), row.keys());
  const Enclosure lse = *log_sum_exp(row_of(visible));
  std::size_t hidden = 0;
  for (std::size_t j = 0; j < deviation.size(); ++j) {
    const Enclosure share = row.visible[j] ? canonical(j) : exp(Enclosure(hidden_scores(hidden++) - lse));
    RC_ASSERT(meet(deviation(j), Enclosure(share / (Enclosure(1) + eps))));
  }
}

template <class F>
Vector<Enclosure> hidden_scores(const MaskedRow& row, F&& score) {
  std::vector<Enclosure> scores;
  for (std::size_t j = 0; j < row.scores.size(); ++j) {
    if (!row.visible[j]) scores.push_back(score(row.scores[j]));
  }
  return tabulate(scores.size(), [&](std::size_t n) { return scores[n]; });
}

rc::Gen<double> sentinels() { return rc::gen::element(-1e9, -1e4, -30.0, -1.0, 0.0); }

PROPERTY(SMX_P8, additive_form_equals_gathering_except_on_empty_rows) {
  const MaskedRow row = *masked_rows();
  RC_CLASSIFY(row.keys().empty(), "empty row");
  const Vector<double> scores = row.scores_in<double>();
  const Vector<double> additive = additive_softmax(row_of(scores), row.visible_row());
  const Vector<double> gathered = masked_softmax(row_of(scores), row.visible_row());
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (row.keys().empty()) {
      RC_ASSERT(std::isnan(additive(j)));
    } else {
      RC_ASSERT(additive(j) == gathered(j));
    }
  }
}

PROPERTY(SMX_P9, sentinel_fill_differs_by_its_leak) {
  const MaskedRow row = *masked_rows();
  RC_CLASSIFY(row.keys().empty(), "empty row");
  with_precision(property_bits, [&] {
    const Enclosure sentinel(*sentinels());
    const Vector<Enclosure> filled =
        sentinel_fill_softmax(row_of(row.scores_in<Enclosure>()), row.visible_row(), sentinel);
    if (row.keys().empty()) {
      for (const Enclosure& w : filled) RC_ASSERT(meet(w, Enclosure(Enclosure(1) / Enclosure(int(row.scores.size())))));
    } else {
      differs_by_its_leak(row, filled, hidden_scores(row, [&](double) { return sentinel; }));
    }
  });
}

PROPERTY(SMX_P10, sentinel_additive_differs_by_its_leak) {
  const MaskedRow row = *masked_rows();
  RC_CLASSIFY(row.keys().empty(), "empty row");
  with_precision(property_bits, [&] {
    const Enclosure sentinel(*sentinels());
    const Vector<Enclosure> scores = row.scores_in<Enclosure>();
    const Vector<Enclosure> shifted = sentinel_additive_softmax(row_of(scores), row.visible_row(), sentinel);
    if (row.keys().empty()) {
      RC_ASSERT(meet(shifted, softmax(row_of(scores))));
    } else {
      differs_by_its_leak(row, shifted,
                          hidden_scores(row, [&](double s) { return Enclosure(Enclosure(s) + sentinel); }));
    }
  });
}

PROPERTY(SMX_P11, no_finite_sentinel_is_safe) {
  const double n = *rc::gen::element(-1e4, -1e9, -1e30, -65504.0, -0x1.fffffep127, -0x1p1000);
  const double below = *rc::gen::element(0.0, 1.0, 40.0);
  with_precision(1200, [&] {
    const Enclosure sentinel(n);
    Vector<Enclosure> scores = Vector<Enclosure>::from_shape({2});
    scores(0) = sentinel - Enclosure(below);
    scores(1) = Enclosure(0);
    const bool visible[] = {true, false};
    const Vector<Enclosure> filled = sentinel_fill_softmax(row_of(scores), Row<bool>(visible), sentinel);
    const Vector<Enclosure> added = sentinel_additive_softmax(row_of(scores), Row<bool>(visible), sentinel);
    RC_ASSERT(upper_end(filled(1)) >= 0.5);
    RC_ASSERT(upper_end(added(1)) >= 0.5);
    RC_ASSERT(is_narrow(filled) && is_narrow(added));
  });
}

}  // namespace
}  // namespace attest
