#include "attest/certify/operation_row.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "attest/definitions/norms.hpp"
#include "attest/definitions/softmax.hpp"

namespace attest {

namespace {

using Rules = std::vector<std::optional<double>>;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double middle(const Enclosure& x) { return static_cast<double>(median(x)); }

/// |x| of what is finite; an element that a rule resolves has no share in a unit.
double finite_magnitude(double x) { return std::isfinite(x) ? std::fabs(x) : 0.0; }

/// A number up to its sign, an infinity or NaN as it is: products and sums of these, in binary64, are infinite or NaN
/// exactly where those of the numbers themselves are in the extended reals.
double kind_of_number(double x) { return std::isfinite(x) ? static_cast<double>((x > 0) - (x < 0)) : x; }

std::optional<double> if_special(double x) { return std::isfinite(x) ? std::nullopt : std::optional<double>(x); }

bool has_nan(const Vector<double>& row) {
  return std::ranges::any_of(row, [](double x) { return std::isnan(x); });
}

bool has_infinity(const Vector<double>& row) {
  return std::ranges::any_of(row, [](double x) { return std::isinf(x); });
}

Vector<Enclosure> lifted(const Vector<double>& row) {
  return tabulate(row.size(), [&](std::size_t c) { return lift<Enclosure>(std::isfinite(row(c)) ? row(c) : 0.0); });
}

/// The elements of a tensor that are one row of an operation's operand.
Vector<double> row_of_tensor(const Tensor<double>& tensor, const RowForm& form, std::size_t row) {
  return tabulate(form.width, [&](std::size_t c) { return tensor.data()[element_of_row(form, row, c)]; });
}

/// What else a row needs.
void add_operands(const SoftmaxRows&, const RowForm&, std::size_t, OperationRow&) {}

void add_operands(const RmsNormRows& norm, const RowForm& form, std::size_t row, OperationRow& to) {
  to.scale = row_of_tensor(norm.scale, form, row);
}

void add_operands(const RotaryRows& rotary, const RowForm&, std::size_t row, OperationRow& to) {
  const std::size_t place = rotary.places[row], pairs = rotary.cosines.shape(1);
  to.cosines = tabulate(pairs, [&](std::size_t n) { return rotary.cosines(place, n); });
  to.sines = tabulate(pairs, [&](std::size_t n) { return rotary.sines(place, n); });
}

// Softmax

/// A score of -infinity is a hidden key: its weight is 0, and it reaches no other.
Vector<Enclosure> values(const SoftmaxRows&, const OperationRow& row) {
  const Vector<bool> finite = tabulate(row.x.size(), [&](std::size_t c) { return std::isfinite(row.x(c)); });
  const Vector<Enclosure> scores = lifted(row.x);
  return masked_softmax(row_of(scores), row_of(finite));
}

Rules rules(const SoftmaxRows&, const OperationRow& row) {
  const double greatest = *std::ranges::max_element(row.x);
  const bool undefined = has_nan(row.x) || std::isinf(greatest);
  return Rules(row.x.size(), undefined ? std::optional<double>(nan) : std::nullopt);
}

std::vector<double> units(const SoftmaxRows&, const OperationRow& row, const Vector<Enclosure>& weights) {
  const double greatest = *std::ranges::max_element(row.x);
  const auto gap = [&](std::size_t c) { return finite_magnitude(greatest - row.x(c)); };
  const double mean = sum_over<double>(row.x.size(), [&](std::size_t k) { return middle(weights(k)) * gap(k); });
  std::vector<double> result;
  for (std::size_t c = 0; c < row.x.size(); ++c) result.push_back(middle(weights(c)) * (1 + gap(c) + mean));
  return result;
}

std::string name_of_unit(const SoftmaxRows&) { return "u w(1 + |s - m| + sum w|s - m|)"; }

// RMS norm

/// Whether the root is 0: the quotients are then 0/0, and there is no value.
bool divides_by_zero(const RmsNormRows& norm, const OperationRow& row) {
  return norm.epsilon == 0 && std::ranges::all_of(row.x, [](double x) { return x == 0; });
}

Vector<Enclosure> values(const RmsNormRows& norm, const OperationRow& row) {
  const Vector<Enclosure> x = lifted(row.x), scale = lifted(row.scale);
  if (norm.epsilon == 0 && std::ranges::all_of(x, [](const Enclosure& e) { return lower_end(e) == 0; })) return x;
  return rms_norm<Enclosure>(row_of(x), row_of(scale), lift<Enclosure>(norm.epsilon));
}

Rules rules(const RmsNormRows& norm, const OperationRow& row) {
  const bool infinite = has_infinity(row.x);
  const bool undefined = has_nan(row.x) || divides_by_zero(norm, row);
  Rules result;
  for (std::size_t c = 0; c < row.x.size(); ++c) {
    const bool quotient_undefined = undefined || std::isinf(row.x(c));
    const double quotient = quotient_undefined ? nan : infinite ? 0.0 : kind_of_number(row.x(c));
    const double product = quotient * kind_of_number(row.scale(c));
    result.push_back(infinite && std::isfinite(product) ? std::optional<double>(0.0) : if_special(product));
  }
  return result;
}

std::vector<double> units(const RmsNormRows&, const OperationRow&, const Vector<Enclosure>& normed) {
  std::vector<double> result;
  for (const Enclosure& y : normed) result.push_back(1.5 * std::fabs(middle(y)));
  return result;
}

std::string name_of_unit(const RmsNormRows&) { return "u 1.5 |y|"; }

// Rotary embedding

/// f(x cos, y sin) for the first channel of each pair and f(x sin, y cos) for the second, each number taken through
/// `as` before; g(x) for the channels that are copied.
template <class As, class First, class Second>
std::vector<double> for_each_channel(const RotaryRows& rotary, const OperationRow& row, As&& as, First&& first_of,
                                     Second&& second_of) {
  std::vector<double> result;
  for (const double x : row.x) result.push_back(as(x));
  const std::size_t pairs = row.cosines.size();
  for (std::size_t n = 0; n < pairs; ++n) {
    const auto [first, second] = channels_of(n, pairs, rotary.pairing);
    const double x = as(row.x(first)), y = as(row.x(second));
    const double cosine = as(row.cosines(n)), sine = as(row.sines(n));
    result[first] = first_of(x * cosine, y * sine);
    result[second] = second_of(x * sine, y * cosine);
  }
  return result;
}

Vector<Enclosure> values(const RotaryRows& embedding, const OperationRow& row) {
  const Vector<Enclosure> x = lifted(row.x), cosines = lifted(row.cosines), sines = lifted(row.sines);
  return rotary(row_of(x), row_of(cosines), row_of(sines), embedding.pairing);
}

Rules rules(const RotaryRows& embedding, const OperationRow& row) {
  Rules result;
  for (const double x : for_each_channel(embedding, row, kind_of_number, std::minus<>(), std::plus<>())) {
    result.push_back(if_special(x));
  }
  return result;
}

std::vector<double> units(const RotaryRows& embedding, const OperationRow& row, const Vector<Enclosure>&) {
  return for_each_channel(embedding, row, finite_magnitude, std::plus<>(), std::plus<>());
}

std::string name_of_unit(const RotaryRows&) { return "u (|x cos| + |y sin|)"; }

}  // namespace

OperationRow operands_of(const RowOperation& operation, std::size_t row) {
  OperationRow result;
  result.x = row_of_tensor(operation.x, operation.form, row);
  std::visit([&](const auto& what) { add_operands(what, operation.form, row, result); }, operation.what);
  return result;
}

Vector<Enclosure> values_of(const RowOperation& operation, const OperationRow& row) {
  return std::visit([&](const auto& what) { return values(what, row); }, operation.what);
}

std::vector<std::optional<double>> rules_of(const RowOperation& operation, const OperationRow& row) {
  return std::visit([&](const auto& what) { return rules(what, row); }, operation.what);
}

std::vector<double> units_of(const RowOperation& operation, const OperationRow& row, const Vector<Enclosure>& found) {
  return std::visit([&](const auto& what) { return units(what, row, found); }, operation.what);
}

std::string unit_name(const RowOperation& operation) {
  return std::visit([](const auto& what) { return name_of_unit(what); }, operation.what);
}

}  // namespace attest
