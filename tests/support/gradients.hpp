#pragma once
/// What the properties of gradients share: a direction and a cotangent for a call, a call moved along the direction in
/// any arithmetic, and the number whose gradient is asked for: the inner product of a result with its cotangent.

#include <ostream>

#include "attest/gradients/attention_gradient.hpp"
#include "support/property.hpp"
#include "support/rows.hpp"

namespace attest {

/// Quotients of differences over 2^-100, and what cancels in them: more than 150 digits.
constexpr int gradient_bits = 520;

/// The point 2^-100, the step of every difference quotient.
inline Enclosure step() { return Enclosure(std::ldexp(1.0, -100)); }

/// The values of the segment from -h to h.
inline Enclosure segment(const Enclosure& h) { return hull(-h, h); }

/// So narrow that meeting it means something, although the inputs are segments of length 2^-99.
inline bool is_narrow_over_a_segment(const Enclosure& x) {
  return upper_end(x) - lower_end(x) <= Point(std::ldexp(1.0, -40)) * (1 + abs(upper_end(x)));
}

/// A call with a cotangent of its outputs and a direction for its inputs.
struct Backward {
  Problem problem;
  Tensor<double> dout;
  std::optional<Tensor<double>> dlse;
  CallGradient<double> direction;
};

inline std::ostream& operator<<(std::ostream& out, const Backward& call) { return out << call.problem; }

inline Shape shape_of(const auto& tensor) { return Shape(tensor.shape().begin(), tensor.shape().end()); }

/// Numbers of any shape.
inline Tensor<double> numbers(const Shape& shape) { return *tensors(shape, *rc::gen::element(-3, -3, 0, -12)); }

/// Cotangents and directions for a call.
inline Backward backward_of(const Problem& problem) {
  const Inputs& in = problem.inputs;
  const Extents n = extents(in);
  Backward call{
      problem,
      numbers({n.batch, n.q_heads, n.queries, n.value_width}),
      std::nullopt,
      {numbers(shape_of(in.q)), numbers(shape_of(in.k)), numbers(shape_of(in.v)), std::nullopt, std::nullopt}};
  if (*rc::gen::arbitrary<bool>()) call.dlse = numbers({n.batch, n.q_heads, n.queries});
  if (in.bias) call.direction.bias = numbers(shape_of(*in.bias));
  if (in.sink) call.direction.sink = Vector<double>(numbers({n.q_heads}));
  return call;
}

inline rc::Gen<Backward> backward_calls(const CallSpace& space = {}) {
  return rc::gen::exec([space] { return backward_of(*calls(space)); });
}

/// The gradient of a call in the arithmetic T.
template <Scalar T>
CallGradient<T> gradient(const Backward& call) {
  return attention_gradient<T>(call.problem, call.dout, call.dlse);
}

/// The part of a direction that belongs to the head (b, h), of the shapes of its operands.
inline HeadGradient<double> direction_of(const Backward& call, std::size_t b, std::size_t h) {
  const Extents n = extents(call.problem.inputs);
  const HeadMap map = call.problem.call.head_map;
  const auto rows = [&](const Tensor<double>& t, std::size_t head) {
    return tabulate(t.shape(2), t.shape(3), [&](std::size_t s, std::size_t c) -> double { return t(b, head, s, c); });
  };
  const CallGradient<double>& t = call.direction;
  HeadGradient<double> part{rows(t.q, h), rows(t.k, key_head(h, n.q_heads, n.k_heads, map)),
                            rows(t.v, key_head(h, n.q_heads, n.v_heads, map)), std::nullopt, std::nullopt};
  if (t.bias) {
    part.bias = tabulate(n.queries, n.keys,
                         [&](std::size_t i, std::size_t j) -> double { return broadcast_at(*t.bias, b, h, i, j); });
  }
  if (t.sink) part.sink = (*t.sink)(h);
  return part;
}

/// The head in another arithmetic, its operands moved: `moved(x, t)` of each operand x and its direction t. What the
/// gradients are not taken of is moved by 0.
template <class T, class F>
Head<T> moved_head(const Head<Enclosure>& head, const HeadGradient<double>& t, F&& moved) {
  const auto matrix = [&](const Matrix<Enclosure>& x, const Matrix<double>& along) {
    return tabulate(x.shape(0), x.shape(1),
                    [&](std::size_t i, std::size_t j) -> T { return moved(x(i, j), along(i, j)); });
  };
  const auto constant = [&](const Enclosure& x) -> T { return moved(x, 0.0); };
  Head<T> result;
  result.queries = matrix(head.queries, t.queries);
  result.keys = matrix(head.keys, t.keys);
  result.values = matrix(head.values, t.values);
  result.visible = head.visible;
  result.scale = constant(head.scale);
  result.bias_scale = constant(head.bias_scale);
  result.output_scale = constant(head.output_scale);
  if (head.softcap) result.softcap = constant(*head.softcap);
  const Matrix<double> still =
      tabulate(head.visible.shape(0), head.visible.shape(1), [](std::size_t, std::size_t) { return 0.0; });
  if (head.bias) result.bias = matrix(*head.bias, t.bias ? *t.bias : still);
  result.bias_position = head.bias_position;
  if (head.sink) result.sink = moved(*head.sink, *t.sink);
  result.kept = head.kept;
  result.sink_in_lse = head.sink_in_lse;
  result.lse_base = head.lse_base;
  return result;
}

/// sum_n a_n b_n of a direction and a gradient.
template <class A, class B>
Enclosure inner(const A& direction, const B& gradient) {
  Enclosure total(0);
  auto g = gradient.begin();
  for (const double t : direction) total = total + Enclosure(t) * *g++;
  return total;
}

/// <t, gradient> for a head.
inline Enclosure inner(const HeadGradient<double>& t, const HeadGradient<Enclosure>& g) {
  Enclosure total = inner(t.queries, g.queries) + inner(t.keys, g.keys) + inner(t.values, g.values);
  if (t.bias) total = total + inner(*t.bias, *g.bias);
  if (g.sink) total = total + Enclosure(*t.sink) * *g.sink;
  return total;
}

/// <t, gradient> for a call.
inline Enclosure inner(const CallGradient<double>& t, const CallGradient<Enclosure>& g) {
  Enclosure total = inner(t.q, g.q) + inner(t.k, g.k) + inner(t.v, g.v);
  if (t.bias) total = total + inner(*t.bias, *g.bias);
  if (t.sink) total = total + inner(*t.sink, *g.sink);
  return total;
}

/// The cotangents of a head's rows, in enclosures.
struct HeadCotangents {
  Matrix<Enclosure> output;
  std::optional<Vector<Enclosure>> lse;
};

inline HeadCotangents cotangents_of(const Backward& call, std::size_t b, std::size_t h) {
  const Extents n = extents(call.problem.inputs);
  HeadCotangents g{tabulate(n.queries, n.value_width,
                            [&](std::size_t i, std::size_t c) { return Enclosure(call.dout(b, h, i, c)); }),
                   std::nullopt};
  if (call.dlse) g.lse = tabulate(n.queries, [&](std::size_t i) { return Enclosure((*call.dlse)(b, h, i)); });
  return g;
}

/// <g, outputs> + <g_lse, log-sum-exps> of a head: the number whose gradient is asked for.
template <class T, class F>
T head_loss(const Head<T>& head, const HeadCotangents& g, F&& constant) {
  T total = T(0);
  for (std::size_t i = 0; i < head.queries.shape(0); ++i) {
    const AttendedRow<T> row = attend_row(head, i);
    for (std::size_t c = 0; c < row.output.size(); ++c) total = total + constant(g.output(i, c)) * row.output(c);
    if (g.lse && row.lse) total = total + constant((*g.lse)(i)) * *row.lse;
  }
  return total;
}

/// f(b, h, the head, its direction, its cotangents) for every head of a call.
template <class F>
void for_each_head(const Backward& call, F&& f) {
  const Extents n = extents(call.problem.inputs);
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.q_heads; ++h) {
      f(head_of<Enclosure>(call.problem, b, h, all_indices(n.queries)), direction_of(call, b, h),
        cotangents_of(call, b, h));
    }
  }
}

/// The loss of a call whose inputs x are moved to x + h t.
inline Enclosure loss_at(const Backward& call, const Enclosure& h) {
  Enclosure total(0);
  for_each_head(call, [&](const Head<Enclosure>& head, const HeadGradient<double>& t, const HeadCotangents& g) {
    const auto moved = [&](const Enclosure& x, double along) -> Enclosure { return x + h * Enclosure(along); };
    total = total + head_loss(moved_head<Enclosure>(head, t, moved), g, [](const Enclosure& x) { return x; });
  });
  return total;
}

/// (L(x + h t) - L(x - h t)) / 2h
inline Enclosure central_quotient(const Backward& call, const Enclosure& h) {
  return (loss_at(call, h) - loss_at(call, -h)) / (h + h);
}

/// The derivative of the loss along t, by dual numbers through the forward definition, enclosed over the inputs
/// x + s t for s in `where`.
inline Enclosure forward_derivative(const Backward& call, const Enclosure& where) {
  using D = Dual<Enclosure>;
  Enclosure total(0);
  for_each_head(call, [&](const Head<Enclosure>& head, const HeadGradient<double>& t, const HeadCotangents& g) {
    const auto moved = [&](const Enclosure& x, double along) {
      return D(x + where * Enclosure(along), Enclosure(along));
    };
    total = total +
            head_loss(moved_head<D>(head, t, moved), g, [](const Enclosure& x) { return D(x, Enclosure(0)); }).tangent;
  });
  return total;
}

/// <t, gradient> by the backward definition, enclosed over the same inputs.
inline Enclosure backward_derivative(const Backward& call, const Enclosure& where) {
  Enclosure total(0);
  for_each_head(call, [&](const Head<Enclosure>& head, const HeadGradient<double>& t, const HeadCotangents& g) {
    const auto moved = [&](const Enclosure& x, double along) -> Enclosure { return x + where * Enclosure(along); };
    total = total + inner(t, head_gradient(moved_head<Enclosure>(head, t, moved), g.output, g.lse));
  });
  return total;
}

}  // namespace attest
