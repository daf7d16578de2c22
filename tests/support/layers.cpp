#include "support/layers.hpp"

#include <fmt/format.h>

#include <ostream>

#include "attest/conventions/conventions.hpp"

namespace attest {

namespace {

bool one_in(int n) { return *between(0, n) == 0; }

Matrix<double> matrix(std::size_t rows, std::size_t columns) {
  const Tensor<double> numbers = *tensors({rows, columns}, -3);
  return tabulate(rows, columns, [&](std::size_t i, std::size_t j) { return numbers(i, j); });
}

Vector<double> vector(std::size_t n) {
  const Matrix<double> row = matrix(1, n);
  return tabulate(n, [&](std::size_t j) { return row(0, j); });
}

LayerConfig config_around(const Extents& n) {
  LayerConfig config;
  config.q_heads = n.q_heads;
  config.k_heads = n.k_heads;
  config.v_heads = n.v_heads;
  config.head_width = n.width;
  config.value_width = n.value_width;
  for (std::size_t* width : {&config.query_input, &config.key_input, &config.value_input, &config.output_width}) {
    *width = *between<std::size_t>(1, 4);
  }
  return config;
}

LayerState<double> weights_of(const LayerConfig& n) {
  LayerState<double> state;
  state.query_weight = matrix(n.query_input, n.q_heads * n.head_width);
  state.key_weight = matrix(n.key_input, n.k_heads * n.head_width);
  state.value_weight = matrix(n.value_input, n.v_heads * n.value_width);
  state.output_weight = matrix(n.q_heads * n.value_width, n.output_width);
  return state;
}

void add_biases(LayerProblem& layer) {
  LayerConfig& n = layer.config;
  n.input_bias = one_in(2);
  n.output_bias = one_in(2);
  if (n.input_bias) {
    layer.state.query_bias = vector(n.q_heads * n.head_width);
    layer.state.key_bias = vector(n.k_heads * n.head_width);
    layer.state.value_bias = vector(n.v_heads * n.value_width);
  }
  if (n.output_bias) layer.state.output_bias = vector(n.output_width);
}

void add_keys(LayerProblem& layer) {
  const LayerConfig& n = layer.config;
  if (one_in(3)) {
    layer.key_row = vector(n.k_heads * n.head_width);
    layer.value_row = vector(n.v_heads * n.value_width);
  }
  layer.zero_attention = one_in(3);
}

/// The kept mask counts the added keys.
void add_dropout(LayerProblem& layer) {
  layer.config.dropout = true;
  layer.state.probability = *rc::gen::element(0.0, 0.25, 0.5, 1.0);
  layer.training = !one_in(3);
  if (!layer.training) return;
  const std::size_t keys = layer.key.shape(1) + added_keys(layer);
  Tensor<bool> kept =
      Tensor<bool>::from_shape({layer.query.shape(0), layer.config.q_heads, layer.query.shape(1), keys});
  for (auto& entry : kept) entry = one_in(2);
  layer.masks.kept = std::move(kept);
}

}  // namespace

rc::Gen<Vector<double>> vectors(std::size_t n) {
  return rc::gen::exec([n] { return vector(n); });
}

rc::Gen<Matrix<double>> matrices(std::size_t rows, std::size_t columns) {
  return rc::gen::exec([=] { return matrix(rows, columns); });
}

rc::Gen<LayerProblem> layers(const LayerSpace& space) {
  return rc::gen::exec([space] {
    CallSpace inside = space.inside;
    inside.dropout = false;
    const Problem call = *calls(inside);
    const Extents n = extents(call.inputs);
    LayerProblem layer;
    layer.call = call.call;
    layer.config = config_around(n);
    layer.state = weights_of(layer.config);
    layer.query = *tensors({n.batch, n.queries, layer.config.query_input}, -3);
    layer.key = *tensors({n.batch, n.keys, layer.config.key_input}, -3);
    layer.value = *tensors({n.batch, n.keys, layer.config.value_input}, -3);
    layer.masks = call.inputs;
    if (space.biases) add_biases(layer);
    if (space.added_keys) add_keys(layer);
    if (space.dropout && one_in(3)) add_dropout(layer);
    return layer;
  });
}

std::vector<std::string> classes_of(const LayerProblem& problem) {
  std::vector<std::string> classes;
  if (problem.config.input_bias) classes.push_back("input bias");
  if (problem.config.output_bias) classes.push_back("output bias");
  if (problem.masks.kept) classes.push_back("dropout");
  if (problem.key_row) classes.push_back("added row");
  if (problem.zero_attention) classes.push_back("zero attention");
  if (problem.config.q_heads > problem.config.k_heads) classes.push_back("grouped heads");
  if (problem.config.query_input != problem.config.key_input) classes.push_back("input widths differ");
  return classes;
}

std::ostream& operator<<(std::ostream& out, const LayerProblem& problem) {
  const LayerConfig& n = problem.config;
  out << fmt::format("heads {}:{}:{} widths {} {} inputs {} {} {} output {}\n", n.q_heads, n.k_heads, n.v_heads,
                     n.head_width, n.value_width, n.query_input, n.key_input, n.value_input, n.output_width);
  for (const std::string& name : classes_of(problem)) out << name << ", ";
  return out << inner_problem(problem);
}

}  // namespace attest
