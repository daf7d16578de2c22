#include "attest/files/case_outputs.hpp"

#include <limits>

#include "attest/conventions/mask_form.hpp"
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
std::optional<Boundaries> boundaries_in(const Problem& problem, const std::optional<Vector<std::int64_t>>& lengths,
                                        std::size_t extent) {
  if (problem.call.layout != Layout::thd) return std::nullopt;
  const auto whole = [&](std::size_t) { return static_cast<std::int64_t>(extent); };
  return boundaries_of(lengths.value_or(tabulate(extents(problem.inputs).batch, whole)));
}

std::optional<Boundaries> query_boundaries(const Problem& problem) {
  return boundaries_in(problem, problem.inputs.q_lengths, extents(problem.inputs).queries);
}

std::optional<Boundaries> key_boundaries(const Problem& problem) {
  return boundaries_in(problem, problem.inputs.k_lengths, extents(problem.inputs).keys);
}

/// Answers over pairs of query and key have the heads first in every layout.
Form form_of(const OutputName& name, const Problem& problem) {
  const Extents n = extents(problem.inputs);
  const Layout layout = problem.call.layout;
  if (name == "out") return {{n.batch, n.q_heads, n.queries, n.value_width}, layout, query_boundaries(problem)};
  if (name == "dq") return {{n.batch, n.q_heads, n.queries, n.width}, layout, query_boundaries(problem)};
  if (name == "dk") return {{n.batch, n.k_heads, n.keys, n.width}, layout, key_boundaries(problem)};
  if (name == "dv") return {{n.batch, n.v_heads, n.keys, n.value_width}, layout, key_boundaries(problem)};
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

Tensor<double> unpack_lse(const std::string& name, const Tensor<double>& t, const Problem& problem) {
  const Form form = lse_form(problem);
  const Axes& n = form.axes;
  const Shape shape{n.batch, n.heads, n.sequence};
  if (!form.boundaries) {
    require_shape(name, t, shape, "(B, H, S)");
    return t;
  }
  const Shape packed = packed_shape(n, form.layout, form.starts());
  require_shape(name, t, {packed[1], packed[0]}, "(H, T)");
  return reshaped(unpack(reshaped(exchanged(t), packed), form.layout, n.heads, form.starts(), nan), shape);
}

Tensor<double> pack_lse(const Tensor<double>& t, const Problem& problem) {
  const Form form = lse_form(problem);
  const Axes& n = form.axes;
  if (!form.boundaries) return t;
  const Tensor<double> packed = pack(reshaped(t, {n.batch, n.heads, n.sequence, 1}), form.layout, form.starts());
  return exchanged(reshaped(packed, {packed.shape(0), packed.shape(1)}));
}

/// The gradient of a bias, with the axes that the bias may have (CNV.D4). Beyond a short one nothing is due.
Tensor<double> unpack_bias(const Tensor<double>& t, const Problem& problem) {
  const Inputs& in = problem.inputs;
  require(in.bias.has_value(), "CAS.C8", "dbias: only with bias");
  Tensor<double> full = four_axes(t, problem.call, extents(in).keys, 0.0, "dbias");
  require_shape("dbias", full, shape_of(*in.bias), "of bias");
  return full;
}

Tensor<double> unpack_sink(const Tensor<double>& t, const Problem& problem) {
  require(problem.inputs.sink.has_value(), "CAS.C8", "dsink: only with sink");
  require_shape("dsink", t, {extents(problem.inputs).q_heads}, "(H)");
  return t;
}

Tensor<double> unpack_output(const OutputName& name, const Tensor<double>& t, const Problem& problem) {
  if (name == "lse") return unpack_lse(name, t, problem);
  if (name == "dbias") return unpack_bias(t, problem);
  if (name == "dsink") return unpack_sink(t, problem);
  const Form form = form_of(name, problem);
  require_shape(name, t, packed_shape(form.axes, form.layout, form.starts()), "of this call");
  return unpack(t, form.layout, form.axes.heads, form.starts(), nan);
}

Tensor<double> pack_output(const OutputName& name, const Tensor<double>& t, const Problem& problem) {
  if (name == "lse") return pack_lse(t, problem);
  if (name == "dbias" || name == "dsink") return t;
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

std::optional<Cotangents> unpack_cotangents(const Archive& archive, const Problem& problem) {
  const Array* dlse = find(archive, "dlse", Kind::floating);
  const Array* dout = find(archive, "dout", Kind::floating);
  require(dout || !dlse, "CAS.C8", "dout: required with dlse");
  if (!dout) return std::nullopt;
  const Form form = form_of("out", problem);
  require_shape("dout", dout->values, packed_shape(form.axes, form.layout, form.starts()), "as out");
  Cotangents cotangents{unpack(dout->values, form.layout, form.axes.heads, form.starts(), nan), std::nullopt};
  if (dlse) cotangents.lse = unpack_lse("dlse", dlse->values, problem);
  return cotangents;
}

std::map<std::string, Array> pack_outputs(const std::map<OutputName, Output>& outputs, const Problem& problem) {
  std::map<std::string, Array> tensors;
  for (const auto& [name, output] : outputs) {
    tensors.emplace(name, Array{dtype_of(output.format), pack_output(name, output.values, problem)});
  }
  return tensors;
}

}  // namespace attest
