/// Chapter 13: the gradients of a row of softmax, of a score and of averaged weights, each by itself.

#include "attest/gradients/layer_gradient.hpp"
#include "support/derivatives.hpp"

namespace attest {
namespace {

/// The gradient of a masked softmax, with `at_hidden` as the cotangent of every hidden key.
template <Scalar T>
Vector<T> masked_gradient(const MaskedRow& row, const Numbers& g, double at_hidden) {
  const Vector<T> weights = masked_softmax(row_of(row.scores_in<T>()), row.visible_row());
  const Vector<T> cotangents =
      tabulate(g.size(), [&](std::size_t j) { return lift<T>(row.visible[j] ? g[j] : at_hidden); });
  return masked_softmax_gradient(row_of(weights), row.visible_row(), row_of(cotangents));
}

template <Scalar T>
void hidden_are_zero(const MaskedRow& row, const Numbers& g) {
  const Vector<T> found = masked_gradient<T>(row, g, std::numeric_limits<double>::quiet_NaN());
  RC_ASSERT(same_bits(found, masked_gradient<T>(row, g, 1.0)));
  for (std::size_t j = 0; j < g.size(); ++j) RC_ASSERT(row.visible[j] || same_bits(found(j), T(0)));
}

PROPERTY(GRD_P17, hidden_scores_have_zero_gradients) {
  const MaskedRow row = *masked_rows();
  const Numbers g = plain(row.scores.size());
  RC_CLASSIFY(row.keys().empty(), "empty row");
  RC_CLASSIFY(row.keys().size() == 1, "one visible key");
  hidden_are_zero<double>(row, g);
  hidden_are_zero<float>(row, g);
  hidden_are_zero<RoundedBF16>(row, g);
}

PROPERTY(GRD_P18, gradients_of_single_definitions_match_finite_differences) {
  const MaskedRow row = *masked_rows();
  const Numbers g = plain(row.scores.size());
  const std::size_t width = *between<std::size_t>(1, 5), heads = *between<std::size_t>(1, 4), keys = g.size();
  RC_CLASSIFY(row.keys().empty(), "empty row");
  with_precision(gradient_bits, [&] {
    const Vector<Enclosure> cotangents = lifted<Enclosure>(g);
    match(
        row.scores, plain(keys),
        [&]<class T>(const Vector<T>& p) { return product<T>(g, masked_softmax(row_of(p), row.visible_row())); },
        [&](const Vector<Enclosure>& p) {
          const Vector<Enclosure> weights = masked_softmax(row_of(p), row.visible_row());
          return masked_softmax_gradient(row_of(weights), row.visible_row(), row_of(cotangents));
        });
    match(
        plain(2 * width + 1), plain(2 * width + 1),
        [&]<class T>(const Vector<T>& p) {
          return T(lift<T>(g[0]) * score(part(p, 0, width), part(p, width, width), p(2 * width)));
        },
        [&](const Vector<Enclosure>& p) {
          const auto d = score_gradient(part(p, 0, width), part(p, width, width), p(2 * width), cotangents(0));
          return flat(d.query, d.key, Vector<Enclosure>{d.scale});
        });
    match(
        plain(heads * keys), plain(heads * keys),
        [&]<class T>(const Vector<T>& p) {
          std::vector<Vector<T>> weights;
          for (std::size_t h = 0; h < heads; ++h) weights.push_back(vector_part(p, h * keys, keys));
          return product<T>(g, mean_weights(weights));
        },
        [&](const Vector<Enclosure>&) {
          const Vector<Enclosure> each = mean_weights_gradient(row_of(cotangents), heads);
          return tabulate(heads * keys, [&](std::size_t n) -> Enclosure { return each(n % keys); });
        });
  });
}

}  // namespace
}  // namespace attest
