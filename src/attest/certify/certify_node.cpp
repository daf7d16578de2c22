#include "attest/certify/certify_node.hpp"

#include "attest/certify/operation_row.hpp"

namespace attest {

namespace {

/// An exponential or a root costs about as much as this many products.
constexpr double products_an_element = 50;

std::vector<Measured> evaluate(const RowOperation& operation, std::size_t r) {
  const OperationRow row = operands_of(operation, r);
  const std::vector<std::optional<double>> rules = rules_of(operation, row);
  const Vector<Enclosure> values = values_of(operation, row);
  const std::vector<double> units = units_of(operation, row, values);
  std::vector<Measured> result;
  for (std::size_t c = 0; c < values.size(); ++c) {
    result.push_back({rules[c] ? Value(*rules[c]) : Value(values(c)), units[c]});
  }
  return result;
}

/// The rows of a matrix put where they lie in the operand.
CertifiedTensor in_place(CertifiedTensor rows, const RowOperation& operation) {
  const std::vector<Element> elements = std::move(rows.elements);
  const std::size_t width = operation.form.width;
  rows.elements.assign(elements.size(), {});
  for (std::size_t n = 0; n < elements.size(); ++n) {
    rows.elements[element_of_row(operation.form, n / width, n % width)] = elements[n];
  }
  rows.shape.assign(operation.x.shape().begin(), operation.x.shape().end());
  return rows;
}

}  // namespace

CertifiedTensor certify(const RowOperation& operation, Format format, const Ladder& ladder, const Progress& progress) {
  const std::size_t width = operation.form.width;
  const std::size_t rows = width == 0 ? 0 : operation.x.size() / width;
  CertifiedTensor prepared = prepare(format, Overflow::standard, {rows, width});
  const auto evaluate_row = [&](std::size_t row) { return evaluate(operation, row); };
  return in_place(certify_rows("out", std::move(prepared), evaluate_row, ladder, progress), operation);
}

double cost_of(const RowOperation& operation) { return products_an_element * static_cast<double>(operation.x.size()); }

}  // namespace attest
