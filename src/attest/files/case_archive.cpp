#include "attest/definitions/mask.hpp"
#include "attest/files/case.hpp"
#include "attest/files/case_outputs.hpp"
#include "attest/files/case_record.hpp"
#include "attest/files/case_tensors.hpp"

namespace attest {

namespace {

/// Tensors on their way into an archive.
struct Tensors {
  std::map<std::string, Array> arrays;
  const std::map<std::string, Dtype>& dtypes;

  /// In the dtype that the file had, if that holds every value, and in the wide one of its kind otherwise.
  template <class T>
  void add(const std::string& name, const T& tensor, Dtype wide) {
    Tensor<double> values = converted<Tensor<double>>(tensor);
    const auto known = dtypes.find(name);
    const bool fits =
        known != dtypes.end() && std::ranges::all_of(values, [&](double x) { return is_value_of(known->second, x); });
    arrays.emplace(name, Array{fits ? known->second : wide, std::move(values)});
  }

  template <class T>
  void add(const InputField<T>& field, const Inputs& inputs, Dtype wide) {
    if (inputs.*field.member) add(field.name, *(inputs.*field.member), wide);
  }
};

/// Keys first .. first+count-1 of every head.
Tensor<double> part_of(const Tensor<double>& t, std::size_t first, std::size_t count) {
  Tensor<double> part = Tensor<double>::from_shape({t.shape(0), t.shape(1), count, t.shape(3)});
  const std::size_t width = t.shape(3);
  for (std::size_t head = 0; head < t.shape(0) * t.shape(1); ++head) {
    std::copy_n(t.data() + (head * t.shape(2) + first) * width, count * width, part.data() + head * count * width);
  }
  return part;
}

void add_operands(Tensors& tensors, const Inputs& inputs) {
  const std::size_t past = inputs.past;
  tensors.add("q", inputs.q, Dtype::f64);
  tensors.add("k", part_of(inputs.k, past, inputs.k.shape(2) - past), Dtype::f64);
  tensors.add("v", part_of(inputs.v, past, inputs.v.shape(2) - past), Dtype::f64);
  if (past == 0) return;
  tensors.add("past_k", part_of(inputs.k, 0, past), Dtype::f64);
  tensors.add("past_v", part_of(inputs.v, 0, past), Dtype::f64);
}

void add_masks(Tensors& tensors, const Problem& problem) {
  const Inputs& inputs = problem.inputs;
  const bool hidden = problem.call.mask_polarity == MaskPolarity::true_is_hidden;
  if (inputs.visible) {
    tensors.add("visible", hidden ? visible_from_hidden(*inputs.visible) : *inputs.visible, Dtype::boolean);
  }
  if (inputs.key_padding) {
    const Tensor<bool> there = *inputs.key_padding;
    const bool turned = problem.call.padding_polarity == MaskPolarity::true_is_hidden;
    tensors.add("key_padding", turned ? visible_from_hidden(there) : there, Dtype::boolean);
  }
  if (inputs.bias) tensors.add("bias", *inputs.bias, Dtype::f64);
  if (inputs.kept) tensors.add("kept", *inputs.kept, Dtype::boolean);
}

void add_fields(Tensors& tensors, const Inputs& inputs) {
  for (const auto& field : batch_fields) tensors.add(field, inputs, Dtype::i64);
  tensors.add(document_q_field, inputs, Dtype::i64);
  tensors.add(document_k_field, inputs, Dtype::i64);
  tensors.add(alibi_field, inputs, Dtype::f64);
  for (const auto& field : descale_fields) tensors.add(field, inputs, Dtype::f64);
  if (inputs.sink) tensors.add("sink", *inputs.sink, Dtype::f64);
}

}  // namespace

Archive archive_of(const std::map<OutputName, Output>& outputs, const Problem& problem) {
  Archive archive{pack_outputs(outputs, problem), result_metadata(problem.call)};
  require_known_tensors(archive, problem.call.layout);
  return archive;
}

Archive archive_of(const Case& one) {
  Problem problem = one.problem;
  problem.call.layout = Layout::bhsd;
  Tensors tensors{pack_outputs(one.outputs, problem), one.dtypes};
  add_operands(tensors, problem.inputs);
  add_masks(tensors, problem);
  add_fields(tensors, problem.inputs);
  if (one.cotangents) tensors.add("dout", one.cotangents->out, Dtype::f64);
  if (one.cotangents && one.cotangents->lse) tensors.add("dlse", *one.cotangents->lse, Dtype::f64);
  return {std::move(tensors.arrays), case_metadata(problem.call)};
}

}  // namespace attest
