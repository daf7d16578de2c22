#pragma once
/// Chapter 12 (DEC): the parts of a decoder block that no earlier chapter has: embedding, relu and gelu, one causal
/// head, a norm of every row, the residual sum.

#include "attest/definitions/attention.hpp"
#include "attest/definitions/norms.hpp"
#include "attest/definitions/projections.hpp"

namespace attest {

/// Refuses a token that has no row in a table of so many: DEC.C1.
void require_tokens(Row<std::size_t> tokens, std::size_t vocabulary);

/// DEC.D1  embedding(table, tokens)(i, c) = table(tokens_i, c)
template <class T>
Matrix<T> embedding(const Matrix<T>& table, Row<std::size_t> tokens) {
  require_tokens(tokens, table.shape(0));
  return tabulate(tokens.size(), table.shape(1),
                  [&](std::size_t i, std::size_t c) -> T { return table(tokens[i], c); });
}

/// DEC.D2  relu(x) = max(x, 0)
template <Scalar T>
T relu(const T& x) {
  return positive_part(x);
}

/// The two constants of gelu: the binary64 numbers nearest sqrt(2 / pi) and 0.044715.
constexpr double gelu_slope = 0.7978845608028654;
constexpr double gelu_cubic = 0.044715;

/// DEC.D3  gelu(x) = x (1 + tanh(a (x + b x^3))) / 2, a and b the constants above.
template <Scalar T>
T gelu(const T& x) {
  const T bent = x + lift<T>(gelu_cubic) * x * x * x;
  return x * (T(1) + tanh(T(lift<T>(gelu_slope) * bent))) / T(2);
}

/// A function of a number, at every entry of a matrix.
template <class T, class F>
Matrix<T> each_entry(const Matrix<T>& x, F&& f) {
  return tabulate(x.shape(0), x.shape(1), [&](std::size_t i, std::size_t c) -> T { return f(x(i, c)); });
}

/// DEC.D4  causal_head(Q, K, V): a head of scale 1/sqrt(d) in which query i sees the keys j <= i.
template <Scalar T>
Head<T> causal_head(const Matrix<T>& queries, const Matrix<T>& keys, const Matrix<T>& values) {
  Head<T> head;
  head.queries = queries;
  head.keys = keys;
  head.values = values;
  head.scale = scale_of<T>(Call{}, queries.shape(1));
  head.visible = tabulate(queries.shape(0), keys.shape(0), [](std::size_t i, std::size_t j) {
    return causal(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j), 0);
  });
  return head;
}

/// DEC.D5  attended_rows(head): the outputs of ATT.D7, row by row.
template <Scalar T>
Matrix<T> attended_rows(const Head<T>& head) {
  Matrix<T> outputs = Matrix<T>::from_shape({head.queries.shape(0), head.values.shape(1)});
  for (std::size_t i = 0; i < outputs.shape(0); ++i) {
    const Vector<T> row = attend_row(head, i).output;
    for (std::size_t c = 0; c < outputs.shape(1); ++c) outputs(i, c) = row(c);
  }
  return outputs;
}

/// DEC.D6  normed_rows(X)_i = layer_norm(X_i), every row with the same parameters.
template <Scalar T>
Matrix<T> normed_rows(const Matrix<T>& x, const Vector<T>& gamma, const Vector<T>& beta, const T& epsilon) {
  Matrix<T> normed = Matrix<T>::from_shape(x.shape());
  for (std::size_t i = 0; i < x.shape(0); ++i) {
    const Vector<T> row = layer_norm<T>(row_of(x, i), row_of(gamma), row_of(beta), epsilon);
    for (std::size_t c = 0; c < x.shape(1); ++c) normed(i, c) = row(c);
  }
  return normed;
}

/// DEC.D7  residual(x, y) = x + y, entry by entry.
template <Scalar T>
Matrix<T> residual(const Matrix<T>& x, const Matrix<T>& y) {
  return tabulate(x.shape(0), x.shape(1), [&](std::size_t i, std::size_t c) -> T { return x(i, c) + y(i, c); });
}

#define ATTEST_DECODER_PARTS(KEYWORD, T)                                                                  \
  KEYWORD template T gelu(const T&);                                                                      \
  KEYWORD template Head<T> causal_head(const Matrix<T>&, const Matrix<T>&, const Matrix<T>&);             \
  KEYWORD template Matrix<T> attended_rows(const Head<T>&);                                               \
  KEYWORD template Matrix<T> normed_rows(const Matrix<T>&, const Vector<T>&, const Vector<T>&, const T&); \
  KEYWORD template Matrix<T> residual(const Matrix<T>&, const Matrix<T>&);
ATTEST_FOR_EACH_ARITHMETIC(ATTEST_DECODER_PARTS, extern)

}  // namespace attest
