/// Chapter 05: what holds bit for bit, in every arithmetic that rounds.

#include "attest/definitions/attention.hpp"

#include <xtensor/xview.hpp>

#include "attest/definitions/typed_attention.hpp"
#include "attest/verdict/rows.hpp"
#include "support/property.hpp"

namespace attest {
namespace {

void classify(const Problem& problem) {
  for (const std::string& name : classes_of(problem)) RC_TAG(name);
}

PROPERTY(ATT_P1, hidden_keys_and_values_may_be_anything) {
  const Problem problem = *calls();
  classify(problem);
  same_rows<double>(problem, poisoned(problem));
  same_rows<float>(problem, poisoned(problem));
  same_rows<RoundedBF16>(problem, poisoned(problem));
}

/// Every key and value from token t on replaced by other numbers.
Problem with_another_future(const Problem& problem, std::size_t t) {
  Problem other = problem;
  for (Tensor<double>* tensor : {&other.inputs.k, &other.inputs.v}) {
    for (std::size_t b = 0; b < tensor->shape(0); ++b) {
      for (std::size_t h = 0; h < tensor->shape(1); ++h) {
        for (std::size_t j = t; j < tensor->shape(2); ++j) {
          for (std::size_t c = 0; c < tensor->shape(3); ++c) (*tensor)(b, h, j, c) = 1000.0 + static_cast<double>(c);
        }
      }
    }
  }
  return other;
}

PROPERTY(ATT_P2, changing_a_token_leaves_earlier_outputs_equal) {
  Problem problem = *calls({.masks = false, .degenerate = false});
  problem.call.causal = true;
  const Extents n = extents(problem.inputs);
  const std::size_t t = *between<std::size_t>(0, n.keys + 1);
  RC_CLASSIFY(t < std::min(n.queries, n.keys), "a future to change");
  const Attended<double> before = attention<double>(problem);
  const Attended<double> after = attention<double>(with_another_future(problem, t));
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.q_heads; ++h) {
      for (std::size_t i = 0; i < std::min(t, n.queries); ++i)
        RC_ASSERT(same_bits(before.at(b, h, i), after.at(b, h, i)));
    }
  }
}

/// Rows first .. of axis 2.
Tensor<double> tail(const Tensor<double>& t, std::size_t first) {
  return xt::eval(xt::view(t, xt::all(), xt::all(), xt::range(first, t.shape(2)), xt::all()));
}

PROPERTY(ATT_P3, decoding_with_a_cache_gives_the_rows_of_the_full_call) {
  Problem full = *plain_calls();
  const Extents n = extents(full.inputs);
  RC_PRE(n.queries == n.keys);
  full.call.causal = true;
  const std::size_t past = *between<std::size_t>(0, n.keys);
  Problem step = full;
  step.inputs.q = tail(full.inputs.q, past);
  step.inputs.past = past;
  step.call.alignment = *rc::gen::element(Alignment::after_past, Alignment::bottom_right_padded);
  const Attended<double> whole = attention<double>(full);
  const Attended<double> decoded = attention<double>(step);
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.q_heads; ++h) {
      for (std::size_t i = past; i < n.queries; ++i) {
        RC_ASSERT(same_bits(whole.at(b, h, i), decoded.at(b, h, i - past)));
      }
    }
  }
}

PROPERTY(ATT_P4, a_row_is_its_own_call) {
  const Problem problem = *calls();
  classify(problem);
  const Extents n = extents(problem.inputs);
  const Attended<double> all = attention<double>(problem);
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.q_heads; ++h) {
      for (std::size_t i = 0; i < n.queries; ++i) {
        RC_ASSERT(same_bits(all.at(b, h, i), attention<double>(single_row(problem, b, h, i)).at(0, 0, 0)));
      }
    }
  }
}

PROPERTY(ATT_P6, permuting_queries_permutes_rows) {
  const Problem problem = *plain_calls();
  const Extents n = extents(problem.inputs);
  Problem backwards = problem;
  backwards.inputs.q = reversed(problem.inputs.q, 2);
  const Attended<double> x = attention<double>(problem);
  const Attended<double> y = attention<double>(backwards);
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.q_heads; ++h) {
      for (std::size_t i = 0; i < n.queries; ++i) {
        RC_ASSERT(same_bits(x.at(b, h, i), y.at(b, h, n.queries - 1 - i)));
      }
    }
  }
}

PROPERTY(ATT_P9, one_query_form_is_the_matrix_row_at_scale_one) {
  Problem problem = *plain_calls();
  problem.call.scale = 1.0;
  const Head<double> head = head_of<double>(problem, 0, 0, all_indices(extents(problem.inputs).queries));
  for (std::size_t i = 0; i < head.queries.shape(0); ++i) {
    RC_ASSERT(same_bits(compute(row_of(head.queries, i), head.keys, head.values), attend_row(head, i).output));
  }
}

PROPERTY(ATT_P11, dropout_of_everything_is_zero) {
  Problem problem = *calls({.dropout = false});
  const Extents n = extents(problem.inputs);
  problem.inputs.kept = Tensor<bool>(Shape{n.batch, n.q_heads, n.queries, n.keys}, *rc::gen::arbitrary<bool>());
  problem.call.dropout = 1.0;
  for (const AttendedRow<double>& row : attention<double>(problem).rows) {
    for (const double o : row.output) RC_ASSERT(o == 0.0);
  }
  problem.call.dropout = 0.5;
  problem.inputs.kept->fill(false);
  for (const AttendedRow<double>& row : attention<double>(problem).rows) {
    for (const double o : row.output) RC_ASSERT(o == 0.0);
  }
}

template <std::size_t R, std::size_t C>
Real<double, R, C> fixed(const Tensor<double>& t) {
  Real<double, R, C> m;
  std::copy(t.begin(), t.end(), m.begin());
  return m;
}

PROPERTY(ATT_P14, typed_twin_forwards_to_the_definition) {
  const auto q = fixed<3, 4>(*tensors({3, 4}, -3));
  const auto k = fixed<3, 4>(*tensors({3, 4}, -3));
  const auto v = fixed<3, 2>(*tensors({3, 2}, -3));
  const Real<double, 3, 3> mask = causal_mask(3);
  const Real<double, 3, 2> typed = attend<double, 3, 3, 4, 2>(q, k, v, mask);
  const Matrix<double> plain = textbook_attention<double>(Matrix<double>(q), Matrix<double>(k), Matrix<double>(v),
                                                          std::optional<Matrix<double>>(causal_mask(3)));
  RC_ASSERT(std::equal(typed.begin(), typed.end(), plain.begin(), [](double a, double b) { return same_bits(a, b); }));
}

/// Each key and value head written out once for each query head that reads it.
Problem repeated(const Problem& problem) {
  const Extents n = extents(problem.inputs);
  Problem result = problem;
  const auto repeat = [&](const Tensor<double>& t) {
    Tensor<double> r = Tensor<double>::from_shape({t.shape(0), n.q_heads, t.shape(2), t.shape(3)});
    for (std::size_t h = 0; t.size() > 0 && h < n.q_heads; ++h) {  // nothing has no views
      xt::view(r, xt::all(), h) = xt::view(t, xt::all(), key_head(h, n.q_heads, t.shape(1), problem.call.head_map));
    }
    return r;
  };
  const auto repeat_factors = [&](std::optional<Matrix<double>>& factors, std::size_t heads) {
    if (!factors) return;
    factors =
        tabulate(factors->shape(0), n.q_heads, [given = *factors, heads, &n, &problem](std::size_t b, std::size_t h) {
          return given(b, key_head(h, n.q_heads, heads, problem.call.head_map) * given.shape(1) / heads);
        });
  };
  repeat_factors(result.inputs.descale_k, n.k_heads);
  repeat_factors(result.inputs.descale_v, n.v_heads);
  result.inputs.k = repeat(problem.inputs.k);
  result.inputs.v = repeat(problem.inputs.v);
  return result;
}

PROPERTY(ATT_P15, grouped_heads_equal_repeated_heads) {
  Problem problem = *calls();
  classify(problem);
  same_rows<double>(problem, repeated(problem));
  problem.call.head_map = HeadMap::grouped;
  const Extents n = extents(problem.inputs);
  const std::size_t group = n.q_heads / n.k_heads;
  for (std::size_t h = 0; h < n.q_heads; ++h) {
    const std::size_t head = key_head(h, n.q_heads, n.k_heads, HeadMap::grouped);
    RC_ASSERT(head * group <= h && h < (head + 1) * group);
  }
}

}  // namespace
}  // namespace attest
