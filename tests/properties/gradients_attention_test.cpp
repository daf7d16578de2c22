/// Chapter 13: the gradients of a call against finite differences, against its forward derivative, and what follows
/// from the equations.

#include <xtensor/xview.hpp>

#include "attest/gradients/recomputed_gradient.hpp"
#include "support/gradients.hpp"

namespace attest {
namespace {

void classify(const Backward& call) {
  for (const std::string& name : classes_of(call.problem)) RC_TAG(name);
  RC_CLASSIFY(call.dlse.has_value(), "cotangent of the log-sum-exp");
}

PROPERTY(GRD_P1, gradients_match_high_precision_finite_differences) {
  const Backward call = *backward_calls();
  classify(call);
  with_precision(gradient_bits, [&] {
    const Enclosure h = step(), half = h / Enclosure(2);
    const Enclosure quotient = central_quotient(call, h);
    const Enclosure backward = backward_derivative(call, segment(h));
    RC_ASSERT(is_narrow(quotient) && is_narrow_over_a_segment(backward));
    RC_ASSERT(meet(quotient, backward));
    RC_ASSERT(meet(quotient, forward_derivative(call, segment(h))));
    const Enclosure exact = inner(call.direction, gradient<Enclosure>(call));
    const Enclosure error = absolute(Enclosure(quotient - exact));
    const Enclosure error_of_half = absolute(Enclosure(central_quotient(call, half) - exact));
    // the error has order 2 or more: halving the step divides it by more than 2^(3/2), or it is 0 up to rounding
    RC_ASSERT(lower_end(error_of_half) * sqrt(Point(8)) <= upper_end(error));
  });
}

PROPERTY(GRD_P2, vjp_is_the_transpose_of_jvp) {
  const Backward call = *backward_calls();
  classify(call);
  with_precision(property_bits + 64, [&] {
    const Enclosure forward = forward_derivative(call, Enclosure(0));
    const Enclosure backward = inner(call.direction, gradient<Enclosure>(call));
    RC_ASSERT(is_narrow(forward) && is_narrow(backward));
    RC_ASSERT(meet(forward, backward));
  });
}

/// f(problem, b, h, i, the head's row backwards, its cotangents) for every row of a call.
template <class F>
void for_each_row(const Backward& call, F&& f) {
  for_each_head(call, [&](const Head<Enclosure>& head, const HeadGradient<double>&, const HeadCotangents& g) {
    for (std::size_t i = 0; i < head.queries.shape(0); ++i) {
      const std::optional<Enclosure> g_lse = g.lse ? std::optional<Enclosure>((*g.lse)(i)) : std::nullopt;
      f(head, i, row_of(g.output, i), g_lse);
    }
  });
}

PROPERTY(GRD_P3, gradients_of_the_logits_of_a_row_sum_to_that_of_its_lse) {
  const Backward call = *backward_calls();
  classify(call);
  with_precision(property_bits + 64, [&] {
    for_each_row(call, [&](const Head<Enclosure>& head, std::size_t i, Row<Enclosure> g, const auto& g_lse) {
      const RowGradient<Enclosure> row = row_gradient(head, i, g, g_lse);
      Enclosure total = row.sink ? *row.sink : Enclosure(0);
      for (const Enclosure& x : row.logits) total = total + x;
      const bool has_lse = !row.keys.empty() || (head.sink && head.sink_in_lse);
      const Enclosure due = g_lse && has_lse ? lse_in_base(*g_lse, head.lse_base) : Enclosure(0);
      RC_ASSERT(meet(total, due) && is_narrow(total));
    });
  });
}

/// The visible pairs of a call: whether any query that reads head h of `heads` sees key j.
bool is_ever_visible(const Problem& problem, std::size_t b, std::size_t head, std::size_t heads, std::size_t j) {
  const Extents n = extents(problem.inputs);
  for (std::size_t h = 0; h < n.q_heads; ++h) {
    if (key_head(h, n.q_heads, heads, problem.call.head_map) != head) continue;
    for (std::size_t i = 0; i < n.queries; ++i) {
      if (is_visible(problem, b, h, i, j)) return true;
    }
  }
  return false;
}

template <class A>
bool same_tensor_bits(const A& a, const A& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return same_bits(x, y); });
}

template <Scalar T>
bool same_gradients(const CallGradient<T>& a, const CallGradient<T>& b) {
  return same_tensor_bits(a.q, b.q) && same_tensor_bits(a.k, b.k) && same_tensor_bits(a.v, b.v) &&
         (!a.bias || same_tensor_bits(*a.bias, *b.bias)) && (!a.sink || same_tensor_bits(*a.sink, *b.sink));
}

PROPERTY(GRD_P4, never_visible_keys_have_zero_gradients) {
  const Backward call = *backward_calls();
  classify(call);
  Backward behind = call;
  behind.problem = poisoned(call.problem);
  const CallGradient<double> g = gradient<double>(behind);
  RC_ASSERT(same_gradients(g, gradient<double>(call)));
  RC_ASSERT(same_gradients(gradient<RoundedBF16>(behind), gradient<RoundedBF16>(call)));
  const Extents n = extents(call.problem.inputs);
  const auto zero_unless_visible = [&](const Tensor<double>& t, std::size_t heads) {
    for (std::size_t b = 0; b < n.batch; ++b) {
      for (std::size_t h = 0; h < heads; ++h) {
        for (std::size_t j = 0; j < n.keys; ++j) {
          if (is_ever_visible(call.problem, b, h, heads, j)) continue;
          RC_TAG(std::string("a key that no query sees"));
          for (std::size_t c = 0; c < t.shape(3); ++c) RC_ASSERT(same_bits(t(b, h, j, c), 0.0));
        }
      }
    }
  };
  zero_unless_visible(g.k, n.k_heads);
  zero_unless_visible(g.v, n.v_heads);
}

PROPERTY(GRD_P5, gradients_of_empty_rows_are_zero) {
  const Backward call = *backward_calls();
  classify(call);
  const Extents n = extents(call.problem.inputs);
  const CallGradient<double> g = gradient<double>(call);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Backward behind = call;
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.q_heads; ++h) {
      const Matrix<bool> visible = visible_matrix(call.problem, b, h);
      for (std::size_t i = 0; i < n.queries; ++i) {
        if (!visible_keys(row_of(visible, i)).empty()) continue;
        for (std::size_t c = 0; c < n.width; ++c) RC_ASSERT(g.q(b, h, i, c) == 0);
        for (std::size_t c = 0; c < n.width; ++c) behind.problem.inputs.q(b, h, i, c) = nan;
        for (std::size_t c = 0; c < n.value_width; ++c) behind.dout(b, h, i, c) = nan;
        if (call.dlse && !call.problem.inputs.sink) (*behind.dlse)(b, h, i) = nan;
      }
    }
  }
  RC_ASSERT(same_gradients(gradient<double>(behind), g));
}

PROPERTY(GRD_P6, query_and_key_gradients_have_equal_products) {
  const Backward call = *backward_calls();
  classify(call);
  const Problem& problem = call.problem;
  const Extents n = extents(problem.inputs);
  with_precision(property_bits + 64, [&] {
    const CallGradient<Enclosure> g = gradient<Enclosure>(call);
    const auto product = [&](const Tensor<double>& x, const Tensor<Enclosure>& dx, std::size_t b, std::size_t h) {
      Enclosure total(0);
      for (std::size_t s = 0; s < x.shape(2); ++s) {
        for (std::size_t c = 0; c < n.width; ++c) total = total + Enclosure(x(b, h, s, c)) * dx(b, h, s, c);
      }
      return total;
    };
    for (std::size_t b = 0; b < n.batch; ++b) {
      for (std::size_t k_head = 0; k_head < n.k_heads; ++k_head) {
        Enclosure of_queries(0);
        for (std::size_t h = 0; h < n.q_heads; ++h) {
          if (key_head(h, n.q_heads, n.k_heads, problem.call.head_map) != k_head) continue;
          of_queries = of_queries + product(problem.inputs.q, g.q, b, h);
        }
        RC_ASSERT(is_narrow(of_queries) && meet(of_queries, product(problem.inputs.k, g.k, b, k_head)));
      }
    }
  });
}

/// 3 x - y / 2, exactly. (xt's arithmetic makes shapes of its own where there are no elements.)
Tensor<double> combination(const Tensor<double>& x, const Tensor<double>& y) {
  Tensor<double> result = x;
  for (std::size_t n = 0; n < x.size(); ++n) result.data()[n] = 3 * x.data()[n] - y.data()[n] / 2;
  return result;
}

PROPERTY(GRD_P7, gradients_are_linear_in_the_cotangents) {
  const Backward x = *backward_calls();
  classify(x);
  Backward y = x, both = x;
  y.dout = numbers(shape_of(x.dout));
  both.dout = combination(x.dout, y.dout);
  if (x.dlse) {
    y.dlse = numbers(shape_of(*x.dlse));
    both.dlse = combination(*x.dlse, *y.dlse);
  }
  with_precision(property_bits + 64, [&] {
    const CallGradient<Enclosure> a = gradient<Enclosure>(x), b = gradient<Enclosure>(y), c = gradient<Enclosure>(both);
    const auto combine = [&](const auto& part_a, const auto& part_b, const auto& part_c) {
      for (std::size_t n = 0; n < part_a.size(); ++n) {
        const Enclosure due = Enclosure(3) * part_a.data()[n] - Enclosure(0.5) * part_b.data()[n];
        RC_ASSERT(is_narrow(due) && meet(due, part_c.data()[n]));
      }
    };
    combine(a.q, b.q, c.q);
    combine(a.k, b.k, c.k);
    combine(a.v, b.v, c.v);
    if (a.bias) combine(*a.bias, *b.bias, *c.bias);
    if (a.sink) combine(*a.sink, *b.sink, *c.sink);
  });
}

PROPERTY(GRD_P8, a_batch_entry_has_its_own_gradients) {
  const Backward call = *backward_calls();
  classify(call);
  const Extents n = extents(call.problem.inputs);
  RC_PRE(n.batch > 0);
  const std::size_t b = *between<std::size_t>(0, n.batch);
  Backward other = call;
  const auto change = [&](Tensor<double>& t) {
    const Tensor<double> fresh = numbers(shape_of(t));
    for (std::size_t a = 0; a < n.batch; ++a) {
      if (a != b) xt::view(t, a) = xt::view(fresh, a);
    }
  };
  change(other.problem.inputs.q);
  change(other.problem.inputs.k);
  change(other.problem.inputs.v);
  change(other.dout);
  if (other.dlse) change(*other.dlse);
  const auto same_entry = [&]<class T>(const CallGradient<T>& x, const CallGradient<T>& y) {
    for (const auto part : {&CallGradient<T>::q, &CallGradient<T>::k, &CallGradient<T>::v}) {
      const std::size_t size = (x.*part).size() / n.batch;
      for (std::size_t e = b * size; e < (b + 1) * size; ++e) {
        RC_ASSERT(same_bits((x.*part).data()[e], (y.*part).data()[e]));
      }
    }
  };
  same_entry(gradient<double>(call), gradient<double>(other));
  same_entry(gradient<RoundedBF16>(call), gradient<RoundedBF16>(other));
}

PROPERTY(GRD_P9, recomputed_gradients_equal_the_definition) {
  const Backward call = *backward_calls();
  classify(call);
  with_precision(property_bits + 64, [&] {
    for_each_row(call, [&](Head<Enclosure> head, std::size_t i, Row<Enclosure> g, const auto&) {
      head.lse_base = LseBase::e;
      head.sink_in_lse = true;
      const AttendedRow<Enclosure> row = attend_row(head, i);
      const RowGradient<Enclosure> due = row_gradient(head, i, g, std::optional<Enclosure>());
      const Enclosure centre = recomputed_centre(g, row_of(row.output));
      for (std::size_t n = 0; n < row.keys.size(); ++n) {
        const bool kept = !head.kept || (*head.kept)(i, row.keys[n]);
        const Enclosure of_weight =
            kept ? weight_gradient(g, row_of(head.values, row.keys[n]), head.output_scale) : Enclosure(0);
        const Enclosure found = recomputed_gradient(Enclosure(row.logits(n)), *row.lse, of_weight, centre);
        RC_ASSERT(is_narrow(found) && meet(found, due.logits(n)));
      }
    });
  });
}

/// Each key and value head written out once for each query head that reads it.
Tensor<double> repeated(const Problem& problem, const Tensor<double>& t) {
  const Extents n = extents(problem.inputs);
  Tensor<double> r = Tensor<double>::from_shape({t.shape(0), n.q_heads, t.shape(2), t.shape(3)});
  for (std::size_t h = 0; h < n.q_heads; ++h) {
    xt::view(r, xt::all(), h) = xt::view(t, xt::all(), key_head(h, n.q_heads, t.shape(1), problem.call.head_map));
  }
  return r;
}

PROPERTY(GRD_P10, grouped_gradients_are_sums_over_repeated_heads) {
  const Backward call = *backward_calls({.descale = false});
  classify(call);
  const Problem& problem = call.problem;
  const Extents n = extents(problem.inputs);
  Backward apart = call;
  apart.problem.inputs.k = repeated(problem, problem.inputs.k);
  apart.problem.inputs.v = repeated(problem, problem.inputs.v);
  const CallGradient<double> due = gradient<double>(apart), found = gradient<double>(call);
  const auto same_sums = [&](const Tensor<double>& each, const Tensor<double>& sums) {
    Tensor<double> total = xt::zeros<double>(sums.shape());
    for (std::size_t h = 0; h < n.q_heads; ++h) {
      const std::size_t to = key_head(h, n.q_heads, sums.shape(1), problem.call.head_map);
      xt::view(total, xt::all(), to) += xt::view(each, xt::all(), h);
    }
    RC_ASSERT(same_tensor_bits(total, sums));
  };
  RC_ASSERT(same_tensor_bits(due.q, found.q));
  same_sums(due.k, found.k);
  same_sums(due.v, found.v);
}

}  // namespace
}  // namespace attest
