/// Chapter 03: visible sets.

#include "attest/definitions/mask.hpp"
#include "support/property.hpp"

namespace attest {
namespace {

PROPERTY(MSK_P1, window_with_full_left_and_no_right_is_causal) {
  const std::int64_t queries = *between(1, 12);
  const std::int64_t offset = *between(-12, 13);
  const std::int64_t i = *between<std::int64_t>(0, queries);
  const std::int64_t j = *between<std::int64_t>(0, 30);
  const std::int64_t left = std::max<std::int64_t>(offset + queries - 1, 0) + *between(0, 3);
  RC_CLASSIFY(causal(i, j, offset), "visible");
  RC_ASSERT(window(i, j, offset, left, 0) == causal(i, j, offset));
}

PROPERTY(MSK_P2, mask_converters_agree) {
  const std::size_t m = *between<std::size_t>(0, 9);
  const std::vector<bool> draw = *visible_rows(m);
  Tensor<bool> visible = Tensor<bool>::from_shape({1, 1, 1, m});
  std::copy(draw.begin(), draw.end(), visible.begin());
  Tensor<bool> hidden = visible;
  Tensor<double> ones = Tensor<double>::from_shape({1, 1, 1, m});
  Tensor<double> additive = ones;
  for (std::size_t j = 0; j < m; ++j) {
    hidden(0, 0, 0, j) = !visible(0, 0, 0, j);
    ones(0, 0, 0, j) = visible(0, 0, 0, j) ? 1 : 0;
    const double finite = *rc::gen::element(0.0, -1e30, 1e30);
    additive(0, 0, 0, j) = visible(0, 0, 0, j) ? finite : -std::numeric_limits<double>::infinity();
  }
  RC_CLASSIFY(std::ranges::count(draw, true) == 0, "all hidden");
  RC_ASSERT(visible_from_hidden(hidden) == visible);
  RC_ASSERT(visible_from_ones(ones) == visible);
  RC_ASSERT(visible_from_additive(additive) == visible);
  RC_ASSERT(visible_from_hidden(visible_from_hidden(visible)) == visible);
}

PROPERTY(MSK_P3, intersection_is_commutative_associative_idempotent) {
  const auto [a, b, c] = *rc::gen::arbitrary<std::tuple<bool, bool, bool>>();
  RC_ASSERT(all_of({a, b}) == all_of({b, a}));
  RC_ASSERT(all_of({all_of({a, b}), c}) == all_of({a, all_of({b, c})}));
  RC_ASSERT(all_of({a, a}) == a);
  RC_ASSERT(all_of({a, all_of({})}) == a);
  RC_ASSERT(all_of({a, b, c}) == (a && b && c));
}

PROPERTY(MSK_P4, alignments_agree_when_square) {
  Problem problem = *calls();
  Inputs& in = problem.inputs;
  const Extents n = extents(in);
  RC_PRE(n.queries == n.keys);
  in.q_lengths = in.k_lengths;
  problem.call.alignment = Alignment::top_left;
  for (std::size_t b = 0; b < n.batch; ++b) {
    RC_ASSERT(offset_of(problem, b) == 0);
    for (const Alignment other : {Alignment::bottom_right_padded, Alignment::bottom_right_actual}) {
      Problem aligned = problem;
      aligned.call.alignment = other;
      RC_ASSERT(offset_of(aligned, b) == 0);
      for (std::size_t h = 0; h < n.q_heads; ++h) {
        RC_ASSERT(visible_matrix(aligned, b, h) == visible_matrix(problem, b, h));
      }
    }
  }
}

PROPERTY(MSK_P5, a_hidden_bias_is_a_hidden_key) {
  Problem biased = *calls({.bias = false});
  const Extents n = extents(biased.inputs);
  Problem masked = biased;
  Tensor<bool> visible = Tensor<bool>::from_shape({n.batch, n.q_heads, n.queries, n.keys});
  const std::vector<bool> draw = *visible_rows(visible.size());
  std::copy(draw.begin(), draw.end(), visible.begin());
  Tensor<double> bias = Tensor<double>::from_shape(visible.shape());
  std::ranges::transform(draw, bias.begin(), [](bool v) { return v ? 0.0 : -std::numeric_limits<double>::infinity(); });
  biased.inputs.bias = bias;
  biased.inputs.visible = std::nullopt;
  biased.call.bias_position =
      *rc::gen::element(BiasPosition::inside_scale, BiasPosition::before_softcap, BiasPosition::after_softcap);
  masked.inputs.visible = visible;
  masked.inputs.bias = xt::zeros<double>(visible.shape());
  masked.call.bias_position = biased.call.bias_position;
  const Attended<double> with_bias = attention<double>(biased);
  const Attended<double> with_mask = attention<double>(masked);
  for (std::size_t r = 0; r < with_mask.rows.size(); ++r) {
    RC_ASSERT(same_bits(with_bias.rows[r], with_mask.rows[r]));
  }
}

PROPERTY(MSK_P6, window_is_the_difference_of_two_causal_sets) {
  const auto i = *between<std::int64_t>(0, 8);
  const auto offset = *between<std::int64_t>(-8, 9);
  const auto left = *between<std::int64_t>(0, 5);
  const auto right = *between<std::int64_t>(0, 5);
  std::int64_t seen = 0;
  for (std::int64_t j = -20; j < 30; ++j) {
    const bool visible = window(i, j, offset, left, right);
    RC_ASSERT(visible == (causal(i, j, offset + right) && !causal(i, j, offset - left - 1)));
    seen += visible;
  }
  RC_ASSERT(seen == left + 1 + right);
}

}  // namespace
}  // namespace attest
