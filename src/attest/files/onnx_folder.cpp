#include "attest/files/onnx_folder.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <xtensor/xbuilder.hpp>

#include "attest/conventions/layout.hpp"
#include "attest/conventions/mask_form.hpp"
#include "attest/conventions/onnx.hpp"
#include "attest/definitions/mask.hpp"
#include "attest/files/onnx_model.hpp"
#include "attest/files/onnx_slots.hpp"

namespace attest {

namespace {

/// The operator's inputs and outputs, by slot.
enum In { q_slot, k_slot, v_slot, mask_slot, past_k_slot, past_v_slot, nonpad_slot };
enum Out { y_slot, present_k_slot, present_v_slot, qk_slot };

Shape shape_of(const Tensor<double>& tensor) { return Shape(tensor.shape().begin(), tensor.shape().end()); }

/// What the tensors say about the node.
OnnxAttention completed(OnnxAttention node, const Slots& in) {
  const Slot& q = *in[q_slot];
  const std::optional<Format> type = format_of(q.array.dtype);
  require(type.has_value(), "CAS.C14", "{}: a floating-point tensor, got {}", q.label, name_of(q.array.dtype));
  node.type = *type;
  node.rank = static_cast<int>(q.array.values.dimension());
  node.past = in[past_k_slot].has_value();
  node.nonpad = in[nonpad_slot].has_value();
  return node;
}

Call call_of(const OnnxAttention& node, const std::vector<Setting>& overrides) {
  const std::string qk_modes = "onnx_qk_modes";
  QkModes modes = QkModes::current;
  for (const Setting& one : overrides) {
    if (one.key == qk_modes) modes = qk_modes_from(one.value);
  }
  Call call = onnx_call(node, modes);
  for (const Setting& one : overrides) {
    require(one.key != "layout", "CAS.C7", "layout: an ONNX folder's tensors determine it, got {:?}", one.value);
    if (one.key != qk_modes) set(call, one.key, one.value);
  }
  require_consistent(call);
  return call;
}

/// (B, H, S, d) as it is, or (B, S, H*d) split into heads: first (B, S, H, d), then the axes S and H exchanged.
Tensor<double> by_heads(const Slot& slot, int rank, std::optional<std::int64_t> heads, std::string_view attribute) {
  const Tensor<double>& values = slot.array.values;
  require(values.dimension() == static_cast<std::size_t>(rank), "CAS.C14", "{}: {} axes as Q has, got {}", slot.label,
          rank, values.dimension());
  if (rank == 4 && !heads) return values;
  const auto count = static_cast<std::size_t>(*heads);
  if (rank == 4) {
    require(count == values.shape(1), "CAS.C13", "{}: the {} heads of {}, got {}", attribute, values.shape(1),
            slot.label, count);
    return values;
  }
  require(values.shape(2) >= count && values.shape(2) % count == 0, "CAS.C13",
          "{}: divides the {} channels of {}, got {}", attribute, values.shape(2), slot.label, count);
  return unpack<double>(values, Layout::bsd, count, nullptr, 0.0);
}

/// concatenation([past, now]) along the keys.
Tensor<double> after_past(const Slot& past, const Tensor<double>& now) {
  const Tensor<double>& cached = past.array.values;
  require(cached.dimension() == 4, "CAS.C14", "{}: four axes, got {}", past.label, cached.dimension());
  Shape expected = shape_of(now);
  expected[2] = cached.shape(2);
  require_shape(past, expected);
  return xt::concatenate(xt::xtuple(cached, now), 2);
}

void add_past(Inputs& inputs, const Slot& past_k, const Slot& past_v) {
  inputs.k = after_past(past_k, inputs.k);
  inputs.v = after_past(past_v, inputs.v);
  inputs.past = past_k.array.values.shape(2);
  require(inputs.past == past_v.array.values.shape(2), "CAS.C14", "{}: {} keys as in {}, got {}", past_v.label,
          inputs.past, past_k.label, past_v.array.values.shape(2));
}

/// nonpad_kv_seqlen counts the keys that are there, the last of which belongs to the last query.
void add_nonpad(Inputs& inputs, const Slot& nonpad) {
  require_type(nonpad, Dtype::i64);
  require_shape(nonpad, {inputs.q.shape(0)});
  const auto queries = static_cast<std::int64_t>(inputs.q.shape(2));
  const auto length = [&](std::size_t b) { return static_cast<std::int64_t>(nonpad.array.values(b)); };
  inputs.k_lengths = tabulate(inputs.q.shape(0), length);
  inputs.offsets = tabulate(inputs.q.shape(0), [&](std::size_t b) { return length(b) - queries; });
}

/// T1 is the type of Q, K and past_key, T2 that of V and past_value.
void check_types(const Slots& in) {
  require_type(*in[k_slot], in[q_slot]->array.dtype);
  require(format_of(in[v_slot]->array.dtype).has_value(), "CAS.C14", "{}: a floating-point tensor, got {}",
          in[v_slot]->label, name_of(in[v_slot]->array.dtype));
  if (!in[past_k_slot]) return;
  require_type(*in[past_k_slot], in[q_slot]->array.dtype);
  require_type(*in[past_v_slot], in[v_slot]->array.dtype);
}

/// The text wants the queries' own type. Where every number is a value of it, all readings of the text agree.
void require_numbers(const Slot& mask, Format type) {
  const auto known = [type](double x) { return is_value_of(type, x); };
  const Tensor<double>& values = mask.array.values;
  require(format_of(mask.array.dtype).has_value() && std::all_of(values.begin(), values.end(), known), "CAS.C14",
          "{}: booleans, or numbers that the type of Q has, got {}", mask.label, name_of(mask.array.dtype));
}

/// The bodies of versions 24 and 25 continue a mask that is shorter than the keys, also one of extent 1, by keys that
/// are hidden; the body of 23 broadcasts extent 1.
void add_mask(Inputs& inputs, const Slot& mask, const Call& call, Format type) {
  const Tensor<double>& values = mask.array.values;
  const std::size_t keys = inputs.k.shape(2);
  require(values.dimension() > 0, "CAS.C14", "{}: one to four axes, got none", mask.label);
  if (mask.array.dtype == Dtype::boolean) {
    const bool true_is_hidden = call.mask_polarity == MaskPolarity::true_is_hidden;
    const Tensor<bool> ones = visible_from_ones(four_axes(values, call, keys, true_is_hidden ? 1.0 : 0.0, mask.label));
    inputs.visible = true_is_hidden ? visible_from_hidden(ones) : ones;
  } else {
    require_numbers(mask, type);
    inputs.bias = four_axes(values, call, keys, -std::numeric_limits<double>::infinity(), mask.label);
  }
}

Inputs inputs_of(const Slots& in, const OnnxAttention& node, const Call& call) {
  check_types(in);
  Inputs inputs;
  inputs.q = by_heads(*in[q_slot], node.rank, node.q_num_heads, "q_num_heads");
  inputs.k = by_heads(*in[k_slot], node.rank, node.kv_num_heads, "kv_num_heads");
  inputs.v = by_heads(*in[v_slot], node.rank, node.kv_num_heads, "kv_num_heads");
  if (node.past) add_past(inputs, *in[past_k_slot], *in[past_v_slot]);
  if (node.nonpad) add_nonpad(inputs, *in[nonpad_slot]);
  if (in[mask_slot]) add_mask(inputs, *in[mask_slot], call, node.type);
  return inputs;
}

Output output_of(const Slot& slot, Dtype type, const Shape& shape) {
  require_type(slot, type);
  require_shape(slot, shape);
  return {*format_of(type), slot.array.values};
}

/// Y has as many axes as Q.
Output y_of(const Slot& slot, const OnnxAttention& node, Dtype type, const Extents& n) {
  if (node.rank == 4) return output_of(slot, type, {n.batch, n.q_heads, n.queries, n.value_width});
  Output y = output_of(slot, type, {n.batch, n.queries, n.q_heads * n.value_width});
  y.values = unpack<double>(y.values, Layout::bsd, n.q_heads, nullptr, 0.0);
  return y;
}

std::map<OutputName, Output> outputs_of(const Slots& out, const Slots& in, const OnnxAttention& node,
                                        const Inputs& inputs) {
  const Extents n = extents(inputs);
  const Dtype type = in[q_slot]->array.dtype;
  std::map<OutputName, Output> outputs;
  if (out[y_slot]) outputs.insert_or_assign("out", y_of(*out[y_slot], node, type, n));
  if (out[present_k_slot]) {
    outputs.insert_or_assign("present_k", output_of(*out[present_k_slot], type, shape_of(inputs.k)));
  }
  if (out[present_v_slot]) {
    outputs.insert_or_assign("present_v", output_of(*out[present_v_slot], in[v_slot]->array.dtype, shape_of(inputs.v)));
  }
  if (out[qk_slot]) {
    outputs.insert_or_assign(qk_output_name(node),
                             output_of(*out[qk_slot], type, {n.batch, n.q_heads, n.queries, n.keys}));
  }
  return outputs;
}

}  // namespace

Case read_onnx_folder(const std::filesystem::path& folder, const std::vector<Setting>& overrides) {
  return attention_case(folder, read_onnx_graph(folder / "model.onnx"), overrides);
}

Case attention_case(const std::filesystem::path& folder, const OnnxGraph& graph,
                    const std::vector<Setting>& overrides) {
  const OnnxModel model = model_from(graph);
  const Slots in = read_slots(folder, "input", graph.graph_inputs, model.inputs, attention_inputs);
  const Slots out = read_slots(folder, "output", graph.graph_outputs, model.outputs, attention_outputs);
  const OnnxAttention node = completed(model.node, in);
  Case result;
  result.problem.call = call_of(node, overrides);
  result.problem.inputs = inputs_of(in, node, result.problem.call);
  check(result.problem);
  result.outputs = outputs_of(out, in, node, result.problem.inputs);
  return result;
}

}  // namespace attest
