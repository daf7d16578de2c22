#pragma once
/// Chapter 06 (MHA): the configured layer: projection, head splitting, scaled dot products, masked softmax, dropout of
/// weights, value aggregation, merging, output projection. Every stage is a value.

#include "attest/definitions/attention.hpp"
#include "attest/definitions/layer_problem.hpp"
#include "attest/definitions/projections.hpp"

namespace attest {

/// MHA.D9  projected_keys(X) = [X W + b; key_row; 0]: also for values, with their own weight, bias and row.
template <Scalar T>
Matrix<T> projected_keys(const Matrix<T>& x, const Matrix<T>& weight, const std::optional<Vector<T>>& bias,
                         const std::optional<Vector<T>>& row, bool zero) {
  const auto one_row = [&](auto entry) { return tabulate(1, weight.shape(1), entry); };
  Matrix<T> projected = affine(x, weight, bias);
  if (row) projected = append_rows(projected, one_row([&](std::size_t, std::size_t c) -> T { return (*row)(c); }));
  if (zero) projected = append_rows(projected, one_row([](std::size_t, std::size_t) { return T(0); }));
  return projected;
}

/// MHA.D10  layer_heads(b, rows): the heads of a batch entry, their operands projected and split, for the query rows
/// given; everything else they have from the attention inside. Heads are numbered as the queries' are.
template <Scalar T>
std::vector<Head<T>> layer_heads(const LayerProblem& problem, const Problem& inner, std::size_t b,
                                 const std::vector<std::size_t>& rows);

/// MHA.D11  output_row(m) = m Wo + bo, of the merged heads of a query: MHA.D4 of one row.
template <Scalar T>
Vector<T> output_row(const Vector<T>& merged, const Matrix<T>& weight, const std::optional<Vector<T>>& bias) {
  const Matrix<T> row = tabulate(1, merged.size(), [&](std::size_t, std::size_t c) -> T { return merged(c); });
  const Matrix<T> output = affine(row, weight, bias);
  return tabulate(weight.shape(1), [&](std::size_t n) -> T { return output(0, n); });
}

/// MHA.D12  mean_weights(w_0, ..., w_(H-1))(j) = (sum_h w_h(j)) / H: the weights of a query, averaged over the heads.
template <Scalar T>
Vector<T> mean_weights(const std::vector<Vector<T>>& weights) {
  return tabulate(weights[0].size(), [&](std::size_t j) -> T {
    return sum_over<T>(weights.size(), [&](std::size_t h) -> T { return weights[h](j); }) /
           T(static_cast<int>(weights.size()));
  });
}

/// What a layer makes of one query: every head's row, the heads side by side, the output.
template <class T>
struct LayerRow {
  std::vector<AttendedRow<T>> heads;
  Vector<T> merged;
  Vector<T> output;
};

/// MHA.D13  layer_row(heads, i): the stages of query row i, from the heads of its batch entry.
template <Scalar T>
LayerRow<T> layer_row(const std::vector<Head<T>>& heads, std::size_t i, const Matrix<T>& weight,
                      const std::optional<Vector<T>>& bias) {
  LayerRow<T> row;
  for (const Head<T>& head : heads) row.heads.push_back(attend_row(head, i));
  const std::size_t width = row.heads[0].output.size();
  row.merged =
      tabulate(heads.size() * width, [&](std::size_t n) -> T { return row.heads[n / width].output(n % width); });
  row.output = output_row(row.merged, weight, bias);
  return row;
}

/// MHA.D14  layer(problem): D13 at every (b, i), numbered b * Sq + i. Refuses what `check` refuses.
template <Scalar T>
std::vector<LayerRow<T>> layer(const LayerProblem& problem);

/// MHA.D15  multi_head_attention: the layer of a record of lists. A matrix for each head projects queries, keys and
/// values, each head is textbook attention without a mask, the heads stand side by side, and one matrix maps them to
/// the output (Vaswani et al. 2017, section 3.2.2).
template <class T>
struct MultiHead {
  std::vector<Matrix<T>> query_projections;  ///< H times (Eq, D)
  std::vector<Matrix<T>> key_projections;    ///< H times (Ek, D)
  std::vector<Matrix<T>> value_projections;  ///< H times (Ev, Dv)
  Matrix<T> output_projection;               ///< (H Dv, Eo)
};

/// MHA.D15
template <Scalar T>
Matrix<T> multi_head_attention(const MultiHead<T>& record, const Matrix<T>& queries, const Matrix<T>& keys,
                               const Matrix<T>& values) {
  const std::vector<Matrix<T>> q = project_heads(queries, record.query_projections);
  const std::vector<Matrix<T>> k = project_heads(keys, record.key_projections);
  const std::vector<Matrix<T>> v = project_heads(values, record.value_projections);
  require(q.size() == k.size() && q.size() == v.size(), "MHA.C2", "heads: as many for q, k and v, got {}, {} and {}",
          q.size(), k.size(), v.size());
  std::vector<Matrix<T>> heads;
  for (std::size_t h = 0; h < q.size(); ++h) heads.push_back(textbook_attention(q[h], k[h], v[h], {}));
  return affine(merge_heads(heads), record.output_projection, {});
}

/// The entries of a tensor's batch entry as a matrix in the arithmetic T: (B, S, E) -> (S, E).
template <Scalar T>
Matrix<T> lift_entry(const Tensor<double>& tensor, std::size_t b) {
  return tabulate(tensor.shape(1), tensor.shape(2),
                  [&](std::size_t s, std::size_t c) -> T { return lift<T>(tensor(b, s, c)); });
}

template <Scalar T>
Matrix<T> lift_matrix(const Matrix<double>& m) {
  return tabulate(m.shape(0), m.shape(1), [&](std::size_t i, std::size_t j) -> T { return lift<T>(m(i, j)); });
}

/// A slot that may be absent stays absent.
template <Scalar T>
std::optional<Vector<T>> lift_slot(const std::optional<Vector<double>>& v) {
  if (!v) return std::nullopt;
  return tabulate(v->size(), [&](std::size_t c) -> T { return lift<T>((*v)(c)); });
}

#define ATTEST_LAYER(KEYWORD, T)                                                                           \
  KEYWORD template std::vector<Head<T>> layer_heads(const LayerProblem&, const Problem&, std::size_t,      \
                                                    const std::vector<std::size_t>&);                      \
  KEYWORD template LayerRow<T> layer_row(const std::vector<Head<T>>&, std::size_t, const Matrix<T>&,       \
                                         const std::optional<Vector<T>>&);                                 \
  KEYWORD template std::vector<LayerRow<T>> layer(const LayerProblem&);                                    \
  KEYWORD template Matrix<T> multi_head_attention(const MultiHead<T>&, const Matrix<T>&, const Matrix<T>&, \
                                                  const Matrix<T>&);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_LAYER, extern)

}  // namespace attest
