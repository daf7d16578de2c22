#include "attest/files/case_outputs.hpp"

#include <limits>

#include "attest/files/case_tensors.hpp"

namespace attest {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// How an answer of these axes lies in a file. Boundaries are there exactly in layout THD.
struct Form {
  Axes axes;
  Layout layout;
  std::optional<Boundaries> boundaries;
  const Boundaries* starts() const { return boundaries ? &*boundaries : nullptr; }
};

/// The boundaries of a packed tensor are its lengths, added up.
std::optional<Boundaries> query_boundaries(const Problem& problem) {
  if (problem.call.layout != Layout::thd) return std::nullopt;
  const Extents n = extents(problem.inputs);
  const auto whole = [&](std::size_t) { return static_cast<std::int64_t>(n.queries); };
  return boundaries_of(problem.inputs.q_lengths.value_or(tabulate(n.batch, whole)));
}

/// Answers over pairs of query and key have the heads first in every layout.
Form form_of(const OutputName& name, const Problem& problem) {
  const Extents n = extents(problem.inputs);
  const Layout layout = problem.call.layout;
  if (name == "out") return {{n.batch, n.q_heads, n.queries, n.value_width}, layout, query_boundaries(problem)};
  if (name == "present_k") return {{n.batch, n.k_heads, n.keys, n.width}, layout, std::nullopt};
  if (name == "present_v") return {{n.batch, n.v_heads, n.keys, n.value_width}, layout, std::nullopt};
  return {{n.batch, n.q_heads, n.queries, n.keys}, Layout::bhsd, std::nullopt};
}

/// The log-sum-exp as a tensor with one channel; in layout THD it is (H, T), so with its axes exchanged.
Form lse_form(const Problem& problem) {
  const Extents n = extents(problem.inputs);
  const Layout layout = problem.call.layout == Layout::thd ? Layout::thd : Layout::bhsd;
  return {{n.batch, n.q_heads, n.queries, 1}, layout, query_boundaries(problem)};
}

Tensor<double> reshaped(Tensor<double> t, const Shape& shape) {
  t.reshape(shape);
  return t;
}

/// A rank-2 tensor with its axes exchanged.
Tensor<double> exchanged(const Tensor<double>& t) {
  Tensor<double> result = Tensor<double>::from_shape({t.shape(1), t.shape(0)});
  for (std::size_t i = 0; i < t.shape(0); ++i) {
    for (std::size_t j = 0; j < t.shape(1); ++j) result(j, i) = t(i, j);
  }
  return result;
}

Tensor<double> unpack_lse(const Tensor<double>& t, const Problem& problem) {
  const Form form = lse_form(problem);
  const Axes& n = form.axes;
  const Shape shape{n.batch, n.heads, n.sequence};
  if (!form.boundaries) {
    require_shape("lse", t, shape, "(B, H, S)");
    return t;
  }
  const Shape packed = packed_shape(n, form.layout, form.starts());
  require_shape("lse", t, {packed[1], packed[0]}, "(H, T)");
  return reshaped(unpack(reshaped(exchanged(t), packed), form.layout, n.heads, form.starts(), nan), shape);
}

Tensor<double> pack_lse(const Tensor<double>& t, const Problem& problem) {
  const Form form = lse_form(problem);
  const Axes& n = form.axes;
  if (!form.boundaries) return t;
  const Tensor<double> packed = pack(reshaped(t, {n.batch, n.heads, n.sequence, 1}), form.layout, form.starts());
  return exchanged(reshaped(packed, {packed.shape(0), packed.shape(1)}));
}

Tensor<double> unpack_output(const OutputName& name, const Tensor<double>& t, const Problem& problem) {
  if (name == "lse") return unpack_lse(t, problem);
  const Form form = form_of(name, problem);
  require_shape(name, t, packed_shape(form.axes, form.layout, form.starts()), "of this call");
  return unpack(t, form.layout, form.axes.heads, form.starts(), nan);
}

Tensor<double> pack_output(const OutputName& name, const Tensor<double>& t, const Problem& problem) {
  if (name == "lse") return pack_lse(t, problem);
  const Form form = form_of(name, problem);
  return pack(t, form.layout, form.starts());
}

}  // namespace

std::map<OutputName, Output> unpack_outputs(const Archive& archive, const Problem& problem) {
  std::map<OutputName, Output> outputs;
  for (const auto& [name, array] : archive.tensors) {
    if (!is_output(name)) continue;
    const Array& answer = need(archive, name, Kind::floating);
    outputs.emplace(name, Output{*format_of(answer.dtype), unpack_output(name, answer.values, problem)});
  }
  return outputs;
}

std::map<std::string, Array> pack_outputs(const std::map<OutputName, Output>& outputs, const Problem& problem) {
  std::map<std::string, Array> tensors;
  for (const auto& [name, output] : outputs) {
    tensors.emplace(name, Array{dtype_of(output.format), pack_output(name, output.values, problem)});
  }
  return tensors;
}

}  // namespace attest
