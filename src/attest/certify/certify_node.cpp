#include "attest/certify/certify_node.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attest/definitions/softmax.hpp"

namespace attest {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// An exponential costs about as much as this many products.
constexpr double products_an_element = 50;

double middle(const Enclosure& x) { return static_cast<double>(median(x)); }

/// w_j (1 + |s_j - m| + sum_k w_k |s_k - m|), m the greatest of the s
std::vector<double> softmax_units(Row<double> scores, const Vector<Enclosure>& weights) {
  const double greatest = *std::ranges::max_element(scores);
  const auto gap = [&](std::size_t j) { return greatest - scores[j]; };
  const double mean = sum_over<double>(scores.size(), [&](std::size_t k) { return middle(weights(k)) * gap(k); });
  std::vector<double> units;
  for (std::size_t j = 0; j < scores.size(); ++j) units.push_back(middle(weights(j)) * (1 + gap(j) + mean));
  return units;
}

/// A score of -infinity has the weight 0. A row with NaN or +infinity, or without a finite score, is NaN.
std::vector<Measured> evaluate(const SoftmaxRows&, Row<double> scores, std::size_t) {
  std::vector<std::size_t> finite;
  bool undefined = false;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (std::isfinite(scores[j])) finite.push_back(j);
    undefined |= std::isnan(scores[j]) || scores[j] > std::numeric_limits<double>::max();
  }
  if (undefined || finite.empty()) return std::vector<Measured>(scores.size(), Measured{nan, 0.0});
  const Vector<double> given = gather(scores, finite);
  const Vector<Enclosure> lifted = tabulate(finite.size(), [&](std::size_t n) { return lift<Enclosure>(given(n)); });
  const Vector<Enclosure> weights = softmax(row_of(lifted));
  const std::vector<double> units = softmax_units(row_of(given), weights);
  std::vector<Measured> row(scores.size(), Measured{Enclosure(0), 0.0});
  for (std::size_t n = 0; n < finite.size(); ++n) row[finite[n]] = {weights(n), units[n]};
  return row;
}

std::string name_of_unit(const SoftmaxRows&) { return "u w(1 + |s - m| + sum w|s - m|)"; }

/// The row's elements, one after the other.
Vector<double> row_of(const RowOperation& operation, std::size_t row) {
  return tabulate(operation.form.width,
                  [&](std::size_t c) { return operation.x.data()[element_of_row(operation.form, row, c)]; });
}

/// The rows of a matrix put where they lie in the operand.
CertifiedTensor in_place(CertifiedTensor rows, const RowOperation& operation) {
  const std::vector<Element> elements = std::move(rows.elements);
  rows.elements.resize(elements.size());
  for (std::size_t n = 0; n < elements.size(); ++n) {
    rows.elements[element_of_row(operation.form, n / operation.form.width, n % operation.form.width)] = elements[n];
  }
  rows.shape.assign(operation.x.shape().begin(), operation.x.shape().end());
  return rows;
}

}  // namespace

CertifiedTensor certify(const RowOperation& operation, Format format, const Ladder& ladder, const Progress& progress) {
  const std::size_t width = operation.form.width;
  const std::size_t rows = width == 0 ? 0 : operation.x.size() / width;
  const auto evaluate_row = [&](std::size_t row) {
    const Vector<double> x = row_of(operation, row);
    return std::visit([&](const auto& what) { return evaluate(what, row_of(x), row); }, operation.what);
  };
  return in_place(
      certify_rows("out", prepare(format, Overflow::standard, {rows, width}), evaluate_row, ladder, progress),
      operation);
}

std::string unit_name(const RowOperation& operation) {
  return std::visit([](const auto& what) { return name_of_unit(what); }, operation.what);
}

double cost_of(const RowOperation& operation) { return products_an_element * static_cast<double>(operation.x.size()); }

}  // namespace attest
