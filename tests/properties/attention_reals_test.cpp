/// Chapter 05: what holds in the reals. Both sides are enclosed; the enclosures are narrow and must meet.

#include <boost/rational.hpp>
#include <numeric>
#include <xtensor/xview.hpp>

#include "attest/certify/bounds.hpp"
#include "support/property.hpp"
#include "support/rows.hpp"

namespace attest {
namespace {

void classify(const Problem& problem) {
  for (const std::string& name : classes_of(problem)) RC_TAG(name);
}

Attended<Enclosure> enclosed(const Problem& problem) {
  return with_precision(property_bits + 64, [&] { return attention<Enclosure>(problem); });
}

/// The same result, the weights in the same order or, where b has its keys reversed, in the opposite one.
void rows_meet(const Problem& a, const Problem& b, bool reversed_keys = false) {
  const Attended<Enclosure> x = enclosed(a);
  const Attended<Enclosure> y = enclosed(b);
  RC_ASSERT(x.rows.size() == y.rows.size());
  for (std::size_t r = 0; r < x.rows.size(); ++r) {
    RC_ASSERT(is_narrow(x.rows[r].output) && is_narrow(y.rows[r].output));
    RC_ASSERT(meet(x.rows[r].output, y.rows[r].output));
    RC_ASSERT(meet(x.rows[r].lse, y.rows[r].lse));
    Vector<Enclosure> weights = y.rows[r].weights;
    if (reversed_keys) std::reverse(weights.begin(), weights.end());
    RC_ASSERT(meet(x.rows[r].weights, weights));
  }
}

/// Keys, values and every mask over keys in reverse order, masks first written out in full.
Problem with_reversed_keys(const Problem& problem) {
  const Extents n = extents(problem.inputs);
  Problem result = problem;
  Inputs& in = result.inputs;
  Tensor<bool> visible = Tensor<bool>::from_shape({n.batch, n.q_heads, n.queries, n.keys});
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.q_heads; ++h) xt::view(visible, b, h) = visible_matrix(problem, b, h);
  }
  in.visible = reversed(visible, 3);
  in.k = reversed(problem.inputs.k, 2);
  in.v = reversed(problem.inputs.v, 2);
  if (in.bias) in.bias = reversed(*problem.inputs.bias, 3);
  if (in.kept) in.kept = reversed(*problem.inputs.kept, 3);
  in.k_lengths = in.q_lengths = in.prefix_lengths = std::nullopt;
  in.key_padding = std::nullopt;
  in.document_q = in.document_k = std::nullopt;
  result.call.causal = false;
  result.call.window_left = result.call.window_right = std::nullopt;
  result.call.alignment = Alignment::top_left;
  return result;
}

PROPERTY(ATT_P5, permuting_keys_changes_nothing) {
  const Problem problem = *calls({.alibi = false});  // slopes count positions of keys
  classify(problem);
  rows_meet(problem, with_reversed_keys(problem), true);
}

PROPERTY(ATT_P7, output_lies_in_the_hull_of_visible_values) {
  const Problem problem = *calls({.dropout = false, .descale = false});
  classify(problem);
  const Extents n = extents(problem.inputs);
  const Attended<Enclosure> all = enclosed(problem);
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.q_heads; ++h) {
      const std::size_t v_head = key_head(h, n.q_heads, n.v_heads, problem.call.head_map);
      for (std::size_t i = 0; i < n.queries; ++i) {
        const AttendedRow<Enclosure>& row = all.at(b, h, i);
        for (std::size_t c = 0; c < n.value_width; ++c) {
          std::vector<double> values;
          for (const std::size_t j : row.keys) values.push_back(problem.inputs.v(b, v_head, j, c));
          if (problem.inputs.sink || values.empty()) values.push_back(0);
          const auto [low, high] = std::ranges::minmax_element(values);
          RC_ASSERT(upper_end(row.output(c)) >= *low && lower_end(row.output(c)) <= *high);
        }
      }
    }
  }
}

PROPERTY(ATT_P8, quotient_equals_weights_times_values) {
  const Problem problem = *calls({.dropout = false, .descale = false});
  classify(problem);
  const Extents n = extents(problem.inputs);
  const Attended<Enclosure> all = enclosed(problem);
  with_precision(property_bits + 64, [&] {
    for (std::size_t h = 0; n.batch > 0 && h < n.q_heads; ++h) {
      const std::size_t v_head = key_head(h, n.q_heads, n.v_heads, problem.call.head_map);
      for (std::size_t i = 0; i < n.queries; ++i) {
        const AttendedRow<Enclosure>& row = all.at(0, h, i);
        for (std::size_t c = 0; c < n.value_width; ++c) {
          const Enclosure product = sum_over<Enclosure>(row.keys.size(), [&](std::size_t k) {
            return row.weights(k) * Enclosure(problem.inputs.v(0, v_head, row.keys[k], c));
          });
          RC_ASSERT(meet(row.output(c), product));
        }
      }
    }
  });
}

/// The expectation over every kept mask with its probability: exactly, in rationals.
PROPERTY(ATT_P10, dropout_is_unbiased) {
  using Rational = boost::rational<long>;
  const std::size_t m = *between<std::size_t>(1, 6);
  const Rational p(*between(0, 4), 4);
  const auto parts = *rc::gen::container<std::vector<int>>(m, between(1, 9));
  const auto values = *rc::gen::container<std::vector<int>>(m, between(-9, 10));
  const long total = std::accumulate(parts.begin(), parts.end(), 0L);
  const auto weight = [&](std::size_t k) { return Rational(parts[k], total); };
  const auto is_kept = [](unsigned mask, std::size_t k) { return (mask >> k & 1) != 0; };
  const auto probability = [&](unsigned mask) {
    Rational product(1);
    for (std::size_t k = 0; k < m; ++k) product *= is_kept(mask, k) ? Rational(1) - p : p;
    return product;
  };
  const Rational expectation = sum_over<Rational>(std::size_t(1) << m, [&](std::size_t mask) {
    const auto kept = static_cast<unsigned>(mask);
    return probability(kept) * sum_over<Rational>(m, [&](std::size_t k) {
             return kept_weight(weight(k), is_kept(kept, k), p) * Rational(values[k]);
           });
  });
  RC_ASSERT(expectation == sum_over<Rational>(m, [&](std::size_t k) { return weight(k) * Rational(values[k]); }));
}

PROPERTY(ATT_P12, zero_scale_is_the_mean_and_negative_scale_negates_queries) {
  Problem problem =
      *calls({.bias = false, .softcap = false, .sink = false, .dropout = false, .alibi = false, .descale = false});
  problem.call.scale = 0.0;
  const Extents n = extents(problem.inputs);
  const Attended<Enclosure> zero = enclosed(problem);
  with_precision(property_bits, [&] {
    for (std::size_t i = 0; n.batch > 0 && i < n.queries; ++i) {
      const AttendedRow<Enclosure>& row = zero.at(0, 0, i);
      for (std::size_t c = 0; !row.keys.empty() && c < n.value_width; ++c) {
        const Enclosure sum = sum_over<Enclosure>(
            row.keys.size(), [&](std::size_t k) { return Enclosure(problem.inputs.v(0, 0, row.keys[k], c)); });
        RC_ASSERT(meet(row.output(c), Enclosure(sum / Enclosure(int(row.keys.size())))));
      }
    }
  });
  problem.call.scale = -0.75;
  Problem negated = problem;
  negated.call.scale = 0.75;
  negated.inputs.q = -problem.inputs.q;
  rows_meet(problem, negated);
}

template <class T>
void is_within_its_bounds(const Problem& problem, Format format) {
  const Extents n = extents(problem.inputs);
  const Attended<T> computed = attention<T>(problem);
  with_precision(property_bits, [&] {
    for (std::size_t b = 0; b < n.batch; ++b) {
      for (std::size_t h = 0; h < n.q_heads; ++h) {
        const Head<Enclosure> head = head_of<Enclosure>(problem, b, h, all_indices(n.queries));
        for (std::size_t i = 0; i < n.queries; ++i) {
          const AttendedRow<Enclosure> exact = attend_row(head, i);
          const RowBounds bounds = row_bounds(head, i, exact, float_model(format));
          const AttendedRow<T>& row = computed.at(b, h, i);
          for (std::size_t c = 0; c < n.value_width; ++c)
            RC_ASSERT(within(row.output(c), exact.output(c), bounds.output[c]));
          for (std::size_t k = 0; k < row.keys.size(); ++k) {
            RC_ASSERT(within(row.logits(k), exact.logits(k), logit_bound(head, i, row.keys[k], float_model(format))));
            RC_ASSERT(within(row.weights(k), exact.weights(k), bounds.weights[k]));
          }
          RC_ASSERT(row.lse.has_value() == exact.lse.has_value());
          if (row.lse) RC_ASSERT(within(*row.lse, *exact.lse, bounds.lse));
        }
      }
    }
  });
}

PROPERTY(ATT_P13, every_output_is_within_its_bound) {
  const Problem problem = *calls({.dropout = false, .alibi = false});
  classify(problem);
  is_within_its_bounds<double>(problem, Format::f64);
  is_within_its_bounds<float>(problem, Format::f32);
}

PROPERTY(ATT_P17, softcap_is_bounded_and_monotone) {
  const double cap = *rc::gen::element(0.5, 2.0, 30.0);
  const std::vector<double> pair = *rows(2);
  const double low = std::min(pair[0], pair[1]);
  const double high = std::max(pair[0], pair[1]);
  with_precision(property_bits, [&] {
    const Enclosure a = softcap(Enclosure(low), Enclosure(cap));
    const Enclosure b = softcap(Enclosure(high), Enclosure(cap));
    RC_ASSERT(lower_end(a) <= upper_end(b));
    RC_ASSERT(lower_end(absolute(a)) <= cap && lower_end(absolute(b)) <= cap);
    const bool saturated = std::max(std::fabs(low), std::fabs(high)) > 30 * cap;
    const bool ordered = low < high ? saturated || upper_end(a) < lower_end(b) : meet(a, b);
    RC_ASSERT(ordered);
    RC_ASSERT(meet(softcap(Enclosure(-low), Enclosure(cap)), Enclosure(-a)));
  });
}

/// The three places, said once more from score and softcap.
Enclosure logit_by_place(const Head<Enclosure>& head, std::size_t i, std::size_t j) {
  const Enclosure x = score(row_of(head.queries, i), row_of(head.keys, j), head.scale);
  const Enclosure b = head.bias ? (*head.bias)(i, j) : Enclosure(0);
  const auto cap = [&](const Enclosure& s) { return head.softcap ? softcap(s, *head.softcap) : s; };
  if (head.bias_position == BiasPosition::inside_scale) return cap(Enclosure(x + head.bias_scale * b));
  return head.bias_position == BiasPosition::before_softcap ? cap(Enclosure(x + b)) : Enclosure(cap(x) + b);
}

PROPERTY(ATT_P19, the_bias_joins_at_its_one_place) {
  const Problem problem = *calls();
  classify(problem);
  const Extents n = extents(problem.inputs);
  with_precision(property_bits + 64, [&] {
    for (std::size_t h = 0; n.batch > 0 && h < n.q_heads; ++h) {
      const Head<Enclosure> head = head_of<Enclosure>(problem, 0, h, all_indices(n.queries));
      for (std::size_t i = 0; i < n.queries; ++i) {
        const AttendedRow<Enclosure> row = attend_row(head, i);
        for (std::size_t k = 0; k < row.keys.size(); ++k) {
          RC_ASSERT(meet(row.logits(k), logit_by_place(head, i, row.keys[k])));
        }
      }
    }
  });
}

PROPERTY(ATT_P18, duplicating_a_key_with_its_value_adds_ln_two) {
  const std::vector<double> logits = *rows(*between<std::size_t>(1, 6));
  const std::size_t m = logits.size();
  const std::size_t k = *between<std::size_t>(0, m);
  const Tensor<double> values = *tensors({m, 2}, -3);
  with_precision(property_bits, [&] {
    const Matrix<Enclosure> v =
        tabulate(m + 1, 2, [&](std::size_t j, std::size_t c) { return Enclosure(values(j < m ? j : k, c)); });
    const Vector<Enclosure> s = lifted<Enclosure>(logits);
    const Vector<Enclosure> twice = append(row_of(s), s(k));
    Vector<Enclosure> raised = s;
    raised(k) = s(k) + log(Enclosure(2));
    RC_ASSERT(meet(weighted_values(exponentials(row_of(twice)), v, all_indices(m + 1), all_indices(m + 1)),
                   weighted_values(exponentials(row_of(raised)), v, all_indices(m), all_indices(m))));
  });
}

}  // namespace
}  // namespace attest
