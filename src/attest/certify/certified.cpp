#include "attest/certify/certified.hpp"

#include <algorithm>
#include <mutex>

#include "attest/certify/parallel.hpp"
#include "attest/scalar/error.hpp"

namespace attest {

namespace {

/// The middle of an enclosure as an unevaluated sum of two doubles.
void set_exact(Element& element, const Value& value) {
  if (const auto* special = std::get_if<double>(&value)) {
    element.exact = *special;
    element.exact_low = 0;
    return;
  }
  const Point middle = median(std::get<Enclosure>(value));
  element.exact = static_cast<double>(middle);
  element.exact_low = std::isfinite(element.exact) ? static_cast<double>(Point(middle - element.exact)) : 0.0;
}

/// A unit in a format: u times it, and the smallest positive number, which underflow costs. Zero stays zero: an element
/// that nothing contributes to has no excuse.
double unit_in(Format format, double unit) {
  return unit == 0 ? 0.0 : unit * unit_roundoff(format) + decode(format, 1);
}

Element element_of(const CertifiedTensor& tensor, const Measured& measured) {
  const Candidates candidates = round_value(tensor.format, measured.value, tensor.overflow);
  Element element{candidates.lower, candidates.upper, 0, 0, unit_in(tensor.format, measured.unit)};
  const bool zero = element.lower == 0 && element.upper == 0;
  const bool both_signs = std::signbit(element.lower) != std::signbit(element.upper);
  if (zero && both_signs) element.lower = element.upper = 0.0;  // MPFI's [0, 0] is [+0, -0]; an exact zero is +0
  set_exact(element, measured.value);
  return element;
}

}  // namespace

CertifiedTensor prepare(Format format, Overflow overflow, const Shape& shape) {
  const bool is_f8 = format == Format::f8e4m3 || format == Format::f8e5m2;
  CertifiedTensor tensor{
      .format = format, .overflow = is_f8 ? overflow : Overflow::standard, .shape = shape, .elements = {}};
  tensor.elements.resize(element_count(tensor.shape));
  return tensor;
}

bool round_elements(CertifiedTensor& tensor, std::size_t first, const std::vector<Measured>& values) {
  bool decided = true;
  for (std::size_t c = 0; c < values.size(); ++c) {
    Element& element = tensor.elements[first + c];
    element = element_of(tensor, values[c]);
    decided &= status_of(tensor.format, {element.lower, element.upper}) == Status::decided;
  }
  return decided;
}

void copy_rounded(CertifiedTensor& tensor, std::span<const double> source) {
  std::ranges::transform(source, tensor.elements.begin(), [&](double x) {
    const double rounded = round_to(tensor.format, x, tensor.overflow);
    return Element{rounded, rounded, x, 0, unit_in(tensor.format, std::fabs(x))};
  });
}

void settle(const std::string& name, CertifiedTensor& tensor, const Ladder& ladder) {
  for (std::size_t n = 0; n < tensor.elements.size(); ++n) {
    const Element& element = tensor.elements[n];
    const Status status = status_of(tensor.format, {element.lower, element.upper});
    if (status == Status::unresolved) {
      throw CannotAnswer(fmt::format("ENC.D3: {}: element {} lies between {} and {} and is not settled at {} bits",
                                     name, n, element.lower, element.upper, ladder.cap));
    }
    tensor.undecided += status == Status::undecided;
  }
}

void for_each_task(std::size_t n, const std::function<void(std::size_t)>& task, const Progress& progress) {
  std::mutex reporting;
  std::size_t done = 0;
  for_each_task(n, [&](std::size_t t) {
    task(t);
    const std::lock_guard lock(reporting);
    if (progress) progress(++done, n);
  });
}

CertifiedTensor certify_rows(const std::string& name, CertifiedTensor prepared, const EvaluateRow& evaluate,
                             const Ladder& ladder, const Progress& progress) {
  CertifiedTensor& tensor = prepared;
  const std::size_t width = tensor.shape.empty() ? 1 : tensor.shape.back();
  const std::size_t rows = width == 0 ? 0 : tensor.elements.size() / width;
  std::mutex recording;
  const auto attempt = [&](std::vector<std::size_t> row, int bits) {
    if (round_elements(tensor, row[0] * width, evaluate(row[0]))) row.clear();
    const std::lock_guard lock(recording);
    tensor.bits = std::max(tensor.bits, bits);
    return row;
  };
  for_each_task(
      rows, [&](std::size_t row) { climb(ladder, {row}, attempt); }, progress);
  settle(name, tensor, ladder);
  return prepared;
}

}  // namespace attest
