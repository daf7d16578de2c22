#include "attest/files/case_masks.hpp"

#include <limits>

#include "attest/conventions/mask_form.hpp"
#include "attest/definitions/mask.hpp"

namespace attest {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void read_tensors_of_pairs(const Archive& archive, const Call& call, Inputs& inputs) {
  const std::size_t keys = extents(inputs).keys;
  if (const Array* given = find(archive, "visible", Kind::boolean)) {
    const Tensor<bool> ones = visible_from_ones(given->values);
    const bool hidden = call.mask_polarity == MaskPolarity::true_is_hidden;
    inputs.visible = four_axes(hidden ? visible_from_hidden(ones) : ones, call, keys, false, "visible");
  }
  if (const Array* given = find(archive, "bias", Kind::floating)) {
    inputs.bias = four_axes(given->values, call, keys, -infinity, "bias");
  }
  if (const Array* given = find(archive, "kept", Kind::boolean)) {
    require_rank("kept", given->values, 4, "(B, H, Sq, Sk)");
    inputs.kept = converted<Tensor<bool>>(given->values);
  }
}

void read_key_padding(const Archive& archive, const Call& call, Inputs& inputs) {
  const Array* given = find(archive, "key_padding", Kind::boolean);
  if (!given) return;
  require_rank("key_padding", given->values, 2, "(B, Sk)");
  const Tensor<bool> ones = visible_from_ones(given->values);
  const bool hidden = call.padding_polarity == MaskPolarity::true_is_hidden;
  inputs.key_padding = converted<Matrix<bool>>(hidden ? visible_from_hidden(ones) : ones);
}

void read_integers(const Archive& archive, const Call& call, Inputs& inputs) {
  const Extents n = extents(inputs);
  for (const auto& [name, member] : batch_fields) {
    const Array* given = find(archive, name, Kind::integer);
    if (!given) continue;
    require_shape(name, given->values, {n.batch}, "(B)");
    inputs.*member = converted<Vector<std::int64_t>>(given->values);
  }
  require(!inputs.offsets || call.alignment == Alignment::offsets, "CAS.C8", "offsets: only with alignment offsets");
  const auto read = [&](const InputField<Matrix<std::int64_t>>& field, std::size_t tokens, std::string_view axes) {
    const Array* given = find(archive, field.name, Kind::integer);
    if (!given) return;
    require_shape(field.name, given->values, {n.batch, tokens}, axes);
    inputs.*field.member = converted<Matrix<std::int64_t>>(given->values);
  };
  read(document_q_field, n.queries, "(B, Sq)");
  read(document_k_field, n.keys, "(B, Sk)");
}

/// Factors for each batch entry and head. A tensor of one axis, of `shared` entries, is for every batch entry.
void read_factors(const Archive& archive, const InputField<Matrix<double>>& field, std::size_t shared, Inputs& inputs) {
  const Array* given = find(archive, field.name, Kind::floating);
  if (!given) return;
  Tensor<double> factors = given->values;
  if (factors.dimension() == 1) {
    require_shape(field.name, factors, {shared}, "for every batch entry");
    factors.reshape(Shape{1, shared});
  }
  require_rank(field.name, factors, 2, "of one or two axes");
  inputs.*field.member = converted<Matrix<double>>(factors);
}

void read_numbers(const Archive& archive, Inputs& inputs) {
  const std::size_t q_heads = extents(inputs).q_heads;
  read_factors(archive, alibi_field, q_heads, inputs);
  for (const auto& field : descale_fields) read_factors(archive, field, 1, inputs);
  if (const Array* given = find(archive, "sink", Kind::floating)) {
    require_shape("sink", given->values, {q_heads}, "(H)");
    inputs.sink = converted<Vector<double>>(given->values);
  }
}

}  // namespace

void read_masks(const Archive& archive, const Call& call, Inputs& inputs) {
  read_tensors_of_pairs(archive, call, inputs);
  read_key_padding(archive, call, inputs);
  read_integers(archive, call, inputs);
  read_numbers(archive, inputs);
}

}  // namespace attest
