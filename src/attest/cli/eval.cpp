#include <fmt/format.h>

#include <algorithm>

#include "attest/cli/certify_shown.hpp"
#include "attest/cli/commands.hpp"
#include "attest/cli/option_values.hpp"
#include "attest/files/safetensors.hpp"
#include "attest/files/whole_file.hpp"

namespace attest {

namespace {

/// Of an undecided pair the value with the even code, as ties do; an exact zero is +0.
double settled(const CertifiedTensor& tensor, const Element& element) {
  const bool upper_even = !std::isnan(element.upper) && encode(tensor.format, element.upper) % 2 == 0;
  const double chosen = element.lower == element.upper || upper_even ? element.upper : element.lower;
  return element.exact == 0 && element.exact_low == 0 ? 0.0 : chosen;
}

Output output_of(const CertifiedTensor& tensor) {
  Tensor<double> values = Tensor<double>::from_shape(tensor.shape);
  std::transform(tensor.elements.begin(), tensor.elements.end(), values.begin(),
                 [&](const Element& element) { return settled(tensor, element); });
  return {tensor.format, std::move(values)};
}

template <class Given>
int eval_case(const EvalOptions& options, const Given& given, Format format) {
  const Formats wanted = evaluated(given, format, {options.stages, options.gradients});
  require_writable(options.out_path, options.case_path);
  const Certified certified = certify_shown(given, wanted);
  Outputs outputs;
  for (const auto& [name, tensor] : certified) outputs.emplace(name, output_of(tensor));
  write_whole(options.out_path, format_safetensors(archive_of(outputs, given)));
  for (const auto& [name, tensor] : certified) {
    fmt::print("{:<8} {} {}, settled at {} bits, {} undecided\n", name, parameters(tensor.format).name,
               to_string(tensor.shape), tensor.bits, tensor.undecided);
  }
  return 0;
}

}  // namespace

int run_eval(const EvalOptions& options) {
  const Format format = format_named(options.dtype.empty() ? "f32" : options.dtype);
  const AnyCase any = read_any_case(options.case_path, options.overrides);
  return std::visit([&](const auto& given) { return eval_case(options, given, format); }, any);
}

}  // namespace attest
