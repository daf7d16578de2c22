#include "attest/online/streamed_layer.hpp"

namespace attest {

template <Scalar T>
std::vector<Vector<T>> streamed_layer(const LayerProblem& problem, std::size_t n) {
  check(problem);
  const LayerConfig& config = problem.config;
  require(!config.input_bias && !config.output_bias && !config.dropout, "ONL.C2",
          "layer: the streamed form is for layers without biases and without dropout");
  require(n > 0, "ONL.C2", "block: at least one key, got 0");
  const Problem inner = inner_problem(problem);
  const std::vector<std::size_t> rows = all_indices(problem.query.shape(1));
  const Matrix<T> weight = lift_matrix<T>(problem.state.output_weight);
  std::vector<Vector<T>> outputs;
  for (std::size_t b = 0; b < problem.query.shape(0); ++b) {
    const std::vector<Head<T>> heads = layer_heads<T>(problem, inner, b, rows);
    for (const std::size_t i : rows) {
      std::vector<Vector<T>> parts;
      for (const Head<T>& head : heads) parts.push_back(streamed_row(head, i, n));
      const std::size_t width = config.value_width;
      const Vector<T> merged =
          tabulate(parts.size() * width, [&](std::size_t m) -> T { return parts[m / width](m % width); });
      outputs.push_back(output_row(merged, weight, {}));
    }
  }
  return outputs;
}

ATTEST_FOR_EACH_ARITHMETIC(ATTEST_STREAMED, )

}  // namespace attest
