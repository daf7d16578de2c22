#include "attest/files/case_file.hpp"

#include <limits>

#include "attest/conventions/layout.hpp"
#include "attest/files/case_masks.hpp"
#include "attest/files/case_outputs.hpp"
#include "attest/files/case_record.hpp"
#include "attest/files/case_tensors.hpp"

namespace attest {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// The axes of an operand in a file.
struct OperandForm {
  std::size_t rank;
  std::string_view axes;
  std::optional<std::size_t> head_axis;  ///< absent where the heads are inside the last axis
};

OperandForm form_of(Layout layout) {
  switch (layout) {
    case Layout::bhsd: return {4, "(B, H, S, D)", 1};
    case Layout::bshd: return {4, "(B, S, H, D)", 2};
    case Layout::bsd: return {3, "(B, S, H*D)", std::nullopt};
    case Layout::thd: return {3, "(T, H, D)", 1};
  }
  return {};
}

/// One of q, k, v, past_k, past_v as the record describes it.
struct Operand {
  std::string name;
  std::string heads_key;
  std::optional<std::size_t> heads;
  const Boundaries* boundaries;
};

std::size_t heads_of(const Operand& operand, const Shape& shape, const OperandForm& form) {
  if (form.head_axis) {
    const std::size_t heads = shape[*form.head_axis];
    require(operand.heads.value_or(heads) == heads, "CAS.C7", "{}: {} as in the shape of {}, got {}", operand.heads_key,
            heads, operand.name, operand.heads.value_or(heads));
    return heads;
  }
  require(operand.heads.has_value(), "CAS.C6", "{}: required by layout BSD", operand.heads_key);
  require(shape.back() > 0 && shape.back() % *operand.heads == 0, "CAS.C9",
          "{}: a last axis of {} heads of equal width, got {}", operand.name, *operand.heads, shape.back());
  return *operand.heads;
}

Tensor<double> read_operand(const Archive& archive, const Operand& operand, Layout layout) {
  const Tensor<double>& given = need(archive, operand.name, Kind::floating).values;
  const OperandForm form = form_of(layout);
  require_rank(operand.name, given, form.rank, form.axes);
  const Shape shape = shape_of(given);
  const std::size_t heads = heads_of(operand, shape, form);
  if (operand.boundaries) {
    const std::int64_t tokens = (*operand.boundaries)(operand.boundaries->size() - 1);
    require(static_cast<std::int64_t>(shape[0]) == tokens, "CAS.C9", "{}: {} tokens as its boundaries say, got {}",
            operand.name, tokens, shape[0]);
  }
  return unpack(given, layout, heads, operand.boundaries, nan);
}

/// cu_seqlens_*: where each packed sequence starts, and at last the number of tokens. Refuses others: CAS.C11.
Boundaries read_boundaries(const Archive& archive, const std::string& name, const std::string& packed) {
  const Tensor<double>& given = need(archive, name, Kind::integer).values;
  require_rank(name, given, 1, "(B + 1)");
  require(given.size() > 0, "CAS.C9", "{}: shape (B + 1), got (0)", name);
  const Tensor<double>& tokens = need(archive, packed, Kind::floating).values;
  require_rank(packed, tokens, 3, form_of(Layout::thd).axes);
  require(given(0) == 0, "CAS.C11", "{}: starts at 0, got {}", name, given(0));
  for (std::size_t b = 1; b < given.size(); ++b) {
    require(given(b - 1) <= given(b), "CAS.C11", "{}: never falls, got {} before {}", name, given(b - 1), given(b));
  }
  const double last = given(given.size() - 1);
  require(last == static_cast<double>(tokens.shape(0)), "CAS.C11", "{}: ends at the {} tokens of {}, got {}", name,
          tokens.shape(0), packed, last);
  return converted<Boundaries>(given);
}

/// Cached keys or values, and the new ones after them.
Tensor<double> joined(const Tensor<double>& past, const Tensor<double>& now, const std::string& name) {
  const Shape expected{now.shape(0), now.shape(1), past.shape(2), now.shape(3)};
  require_shape(name, past, expected, "(B, H, past, D), once unpacked,");
  const std::size_t old_size = past.shape(2) * past.shape(3);
  const std::size_t new_size = now.shape(2) * now.shape(3);
  Tensor<double> all =
      Tensor<double>::from_shape({now.shape(0), now.shape(1), past.shape(2) + now.shape(2), now.shape(3)});
  for (std::size_t head = 0; head < now.shape(0) * now.shape(1); ++head) {
    double* target = std::copy_n(past.data() + head * old_size, old_size, all.data() + head * (old_size + new_size));
    std::copy_n(now.data() + head * new_size, new_size, target);
  }
  return all;
}

void read_past(const Archive& archive, const CaseRecord& record, Inputs& inputs) {
  const bool has_k = archive.tensors.contains("past_k");
  require(has_k == archive.tensors.contains("past_v"), "CAS.C8", "{}: required with {}", has_k ? "past_v" : "past_k",
          has_k ? "past_k" : "past_v");
  if (!has_k) return;
  const Layout layout = record.call.layout;
  const Tensor<double> past_k = read_operand(archive, {"past_k", "k_heads", record.heads.k, nullptr}, layout);
  const Tensor<double> past_v = read_operand(archive, {"past_v", "v_heads", record.heads.v, nullptr}, layout);
  inputs.past = past_k.shape(2);
  inputs.k = joined(past_k, inputs.k, "past_k");
  inputs.v = joined(past_v, inputs.v, "past_v");
}

Inputs read_operands(const Archive& archive, const CaseRecord& record) {
  const Layout layout = record.call.layout;
  Inputs inputs;
  std::optional<Boundaries> q_starts, k_starts;
  if (layout == Layout::thd) {
    q_starts = read_boundaries(archive, "cu_seqlens_q", "q");
    k_starts = read_boundaries(archive, "cu_seqlens_k", "k");
    inputs.q_lengths = lengths_of(*q_starts);
    inputs.k_lengths = lengths_of(*k_starts);
  }
  const auto pointer = [](const std::optional<Boundaries>& starts) { return starts ? &*starts : nullptr; };
  inputs.q = read_operand(archive, {"q", "q_heads", record.heads.q, pointer(q_starts)}, layout);
  inputs.k = read_operand(archive, {"k", "k_heads", record.heads.k, pointer(k_starts)}, layout);
  inputs.v = read_operand(archive, {"v", "v_heads", record.heads.v, pointer(k_starts)}, layout);
  read_past(archive, record, inputs);
  return inputs;
}

}  // namespace

Case case_from(const Archive& archive, const std::vector<Setting>& overrides) {
  const CaseRecord record = record_of_case(archive.metadata, overrides);
  require_known_tensors(archive, record.call.layout);
  Case result{{Call(), read_operands(archive, record)}, {}};
  check(result.problem);  // the operands alone, before anything is measured against them
  result.problem.call = record.call;
  Inputs& inputs = result.problem.inputs;
  read_masks(archive, record.call, inputs);
  check(result.problem);
  result.outputs = unpack_outputs(archive, result.problem);
  result.cotangents = unpack_cotangents(archive, result.problem);
  for (const auto& [name, array] : archive.tensors) {
    if (!is_output(name)) result.dtypes.emplace(name, array.dtype);
  }
  return result;
}

std::map<OutputName, Output> outputs_from(const Archive& archive, const Problem& problem) {
  for (const auto& [name, array] : archive.tensors) {
    require(is_output(name), "CAS.C8", "{}: no answer; a file of answers has {}", name, answer_names());
  }
  check_result_metadata(archive.metadata, problem.call);
  require_known_tensors(archive, problem.call.layout);
  return unpack_outputs(archive, problem);
}

}  // namespace attest
