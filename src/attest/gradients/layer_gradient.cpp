#include "attest/gradients/layer_gradient.hpp"

namespace attest {

namespace {

/// sum_n <- sum_n + x_n
template <class Container>
void add(Container& sum, const Container& x) {
  for (std::size_t n = 0; n < x.size(); ++n) sum.data()[n] = sum.data()[n] + x.data()[n];
}

template <class Container>
void add(std::optional<Container>& sum, const std::optional<Container>& x) {
  if (sum) add(*sum, *x);
}

template <Scalar T>
Matrix<T> zeros_like(const Matrix<double>& m) {
  return tabulate(m.shape(0), m.shape(1), [](std::size_t, std::size_t) { return T(0); });
}

template <Scalar T>
Tensor<T> zeros_like(const Tensor<double>& t) {
  Tensor<T> result = Tensor<T>::from_shape(t.shape());
  std::fill(result.begin(), result.end(), T(0));
  return result;
}

template <Scalar T>
std::optional<Vector<T>> zeros_like(const std::optional<Vector<double>>& v) {
  if (!v) return std::nullopt;
  return tabulate(v->size(), [](std::size_t) { return T(0); });
}

/// What everything adds to: zeros in the shapes of the layer's inputs and state.
template <Scalar T>
LayerGradient<T> zero_gradient(const LayerProblem& problem) {
  const LayerState<double>& s = problem.state;
  LayerGradient<T> zero{{zeros_like<T>(s.query_weight), zeros_like<T>(s.key_weight), zeros_like<T>(s.value_weight),
                         zeros_like<T>(s.output_weight), zeros_like<T>(s.query_bias), zeros_like<T>(s.key_bias),
                         zeros_like<T>(s.value_bias), zeros_like<T>(s.output_bias), std::nullopt},
                        zeros_like<T>(problem.query),
                        zeros_like<T>(problem.key),
                        zeros_like<T>(problem.value),
                        zeros_like<T>(problem.key_row),
                        zeros_like<T>(problem.value_row),
                        std::nullopt,
                        zeros_like<T>(problem.masks.sink)};
  if (problem.masks.bias) zero.bias = zeros_like<T>(*problem.masks.bias);
  return zero;
}

/// The gradients of the query heads that read a key or value head, added up in their order; then these sums side by
/// side.
template <Scalar T>
Matrix<T> grouped(const std::vector<HeadGradient<T>>& heads, Matrix<T> HeadGradient<T>::*part, std::size_t groups,
                  HeadMap map) {
  std::vector<std::optional<Matrix<T>>> sums(groups);
  for (std::size_t h = 0; h < heads.size(); ++h) {
    std::optional<Matrix<T>>& sum = sums[key_head(h, heads.size(), groups, map)];
    sum ? add(*sum, heads[h].*part) : void(sum = heads[h].*part);
  }
  std::vector<Matrix<T>> all;
  for (const std::optional<Matrix<T>>& sum : sums) all.push_back(*sum);
  return split_heads_gradient(all);
}

/// One projection of one batch entry: what it was made from, and where its gradients go.
template <class T>
struct Projection {
  const Tensor<double>& input;
  const Matrix<double>& weight;
  Tensor<T>& input_sum;
  Matrix<T>& weight_sum;
  std::optional<Vector<T>>& bias_sum;
};

/// Backwards through MHA.D9 for the rows of the input, which come before the added ones.
template <Scalar T>
void add_projection(const Projection<T>& p, std::size_t b, const Matrix<T>& g) {
  const Matrix<T> weight = lift_matrix<T>(p.weight);
  const AffineGradient<T> affine = affine_gradient(lift_entry<T>(p.input, b), weight, p.bias_sum.has_value(), g);
  add(p.weight_sum, affine.weight);
  add(p.bias_sum, affine.bias);
  for (std::size_t s = 0; s < g.shape(0); ++s) {
    for (std::size_t c = 0; c < affine.x.shape(1); ++c) p.input_sum(b, s, c) = affine.x(s, c);
  }
}

/// The same, after the added rows are taken off: the first of them is a parameter, if the layer has it.
template <Scalar T>
void add_projected_keys(const Projection<T>& p, std::optional<Vector<T>>& row_sum, std::size_t b, const Matrix<T>& g) {
  const AppendGradient<T> parts = append_rows_gradient(g, p.input.shape(1));
  add_projection(p, b, parts.past);
  if (row_sum) add(*row_sum, tabulate(g.shape(1), [&](std::size_t c) -> T { return parts.now(0, c); }));
}

/// The merged heads of every query row, as a matrix.
template <Scalar T>
Matrix<T> merged_heads(const std::vector<Head<T>>& heads) {
  std::vector<Matrix<T>> outputs;
  for (const Head<T>& head : heads) {
    outputs.push_back(
        tabulate(head.queries.shape(0), head.values.shape(1), [](std::size_t, std::size_t) { return T(0); }));
    for (std::size_t i = 0; i < head.queries.shape(0); ++i) {
      const Vector<T> output = attend_row(head, i).output;
      for (std::size_t c = 0; c < output.size(); ++c) outputs.back()(i, c) = output(c);
    }
  }
  return merge_heads(outputs);
}

/// Backwards through the heads of a batch entry and what made them.
template <Scalar T>
void add_heads(LayerGradient<T>& sums, const LayerProblem& problem, std::size_t b,
               const std::vector<HeadGradient<T>>& heads) {
  const LayerConfig& n = problem.config;
  const LayerState<double>& from = problem.state;
  LayerState<T>& state = sums.state;
  const HeadMap map = problem.call.head_map;
  const Projection<T> queries{problem.query, from.query_weight, sums.query, state.query_weight, state.query_bias};
  const Projection<T> keys{problem.key, from.key_weight, sums.key, state.key_weight, state.key_bias};
  const Projection<T> values{problem.value, from.value_weight, sums.value, state.value_weight, state.value_bias};
  add_projection(queries, b, grouped(heads, &HeadGradient<T>::queries, n.q_heads, map));
  add_projected_keys(keys, sums.key_row, b, grouped(heads, &HeadGradient<T>::keys, n.k_heads, map));
  add_projected_keys(values, sums.value_row, b, grouped(heads, &HeadGradient<T>::values, n.v_heads, map));
  for (std::size_t h = 0; h < heads.size(); ++h) {
    if (sums.bias) add_broadcast(*sums.bias, b, h, *heads[h].bias, problem.key.shape(1));
    if (heads[h].sink) (*sums.sink)(h) = (*sums.sink)(h) + *heads[h].sink;
  }
}

}  // namespace

template <Scalar T>
LayerGradient<T> layer_gradient(const LayerProblem& problem, const Tensor<double>& dout) {
  check(problem);
  const Shape due = shape_of_output("out", problem), got(dout.shape().begin(), dout.shape().end());
  require(got == due, "GRD.C1", "dout: shape {}, got {}", to_string(due), to_string(got));
  const Problem inner = inner_problem(problem);
  const std::vector<std::size_t> rows = all_indices(problem.query.shape(1));
  const Matrix<T> weight = lift_matrix<T>(problem.state.output_weight);
  LayerGradient<T> sums = zero_gradient<T>(problem);
  for (std::size_t b = 0; b < problem.query.shape(0); ++b) {
    const std::vector<Head<T>> heads = layer_heads<T>(problem, inner, b, rows);
    const AffineGradient<T> output =
        affine_gradient(merged_heads(heads), weight, problem.state.output_bias.has_value(), lift_entry<T>(dout, b));
    add(sums.state.output_weight, output.weight);
    add(sums.state.output_bias, output.bias);
    const std::vector<Matrix<T>> cotangents = merge_heads_gradient(output.x, heads.size());
    std::vector<HeadGradient<T>> gradients;
    for (std::size_t h = 0; h < heads.size(); ++h) gradients.push_back(head_gradient(heads[h], cotangents[h], {}));
    add_heads(sums, problem, b, gradients);
  }
  return sums;
}

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_LAYER_GRADIENT, )

}  // namespace attest
