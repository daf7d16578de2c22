#include "attest/files/layer_case.hpp"

#include <fmt/ranges.h>

#include "attest/definitions/projections.hpp"
#include "attest/files/case_masks.hpp"
#include "attest/files/case_record.hpp"
#include "attest/tensor/matmul.hpp"

namespace attest {

namespace {

/// The names of the slots that a layer may have.
std::vector<std::string> slot_names() {
  std::vector<std::string> names;
  for (const auto& [enabled, slot] : configured_slots(LayerConfig())) names.push_back(slot.name);
  return names;
}

const std::vector<std::string> others = {
    "input", "query",     "key",       "value",      "keyRow",     "valueRow",       "visible", "bias", "key_padding",
    "kept",  "q_lengths", "k_lengths", "document_q", "document_k", "prefix_lengths", "offsets", "sink", "alibi_slopes",
};
const std::vector<std::string> answers = {"out", "weights", "mean_weights"};

bool is_one_of(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

void require_known(const Archive& archive) {
  const std::vector<std::string> slots = slot_names();
  for (const auto& [name, array] : archive.tensors) {
    require(is_one_of(slots, name) || is_one_of(others, name) || is_one_of(answers, name), "CAS.C8",
            "{}: no tensor of a layer case; there are {} {} {}", name, fmt::join(slots, " "), fmt::join(others, " "),
            fmt::join(answers, " "));
  }
}

/// (S, B, E) as (B, S, E), and the other way round.
Tensor<double> exchanged(const Tensor<double>& t) {
  Tensor<double> result = Tensor<double>::from_shape({t.shape(1), t.shape(0), t.shape(2)});
  for (std::size_t s = 0; s < t.shape(0); ++s) {
    for (std::size_t b = 0; b < t.shape(1); ++b) {
      for (std::size_t c = 0; c < t.shape(2); ++c) result(b, s, c) = t(s, b, c);
    }
  }
  return result;
}

Tensor<double> read_input(const Archive& archive, const std::string& name, InputAxes axes) {
  const Tensor<double>& given = need(archive, name, Kind::floating).values;
  const bool batch_first = axes == InputAxes::batch_first;
  require_rank(name, given, 3, batch_first ? "(B, S, E)" : "(S, B, E)");
  return batch_first ? given : exchanged(given);
}

/// Self-attention has one `input`; otherwise there are all three.
void read_inputs(const Archive& archive, InputAxes axes, LayerProblem& problem) {
  if (archive.tensors.contains("input")) {
    for (const std::string name : {"query", "key", "value"}) {
      require(!archive.tensors.contains(name), "CAS.C8", "{}: not beside input, which stands for query, key and value",
              name);
    }
    problem.query = problem.key = problem.value = read_input(archive, "input", axes);
    return;
  }
  problem.query = read_input(archive, "query", axes);
  problem.key = read_input(archive, "key", axes);
  problem.value = read_input(archive, "value", axes);
}

/// A weight (in, out), from a matrix, or from a matrix for each head, side by side.
Matrix<double> read_weight(const Archive& archive, const std::string& name, WeightAxes axes) {
  const Tensor<double>& given = need(archive, name, Kind::floating).values;
  const bool per_head = given.dimension() == 3;
  require(given.dimension() == 2 || (per_head && name != "outputWeight"), "CAS.C9", "{}: two axes{}, got shape {}",
          name, name == "outputWeight" ? "" : ", or three with the heads first", to_string(shape_of(given)));
  std::vector<Matrix<double>> heads;
  const std::size_t count = per_head ? given.shape(0) : 1;
  const std::size_t rows = given.shape(given.dimension() - 2), columns = given.shape(given.dimension() - 1);
  for (std::size_t h = 0; h < count; ++h) {
    const Matrix<double> one = tabulate(
        rows, columns, [&](std::size_t i, std::size_t j) { return given.data()[(h * rows + i) * columns + j]; });
    heads.push_back(axes == WeightAxes::in_out ? one : transpose(one));
  }
  require(count > 0, "CAS.C9", "{}: at least one head, got shape {}", name, to_string(shape_of(given)));
  return merge_heads(heads);
}

std::optional<Vector<double>> read_vector(const Archive& archive, const std::string& name) {
  const Array* given = find(archive, name, Kind::floating);
  if (!given) return std::nullopt;
  require_rank(name, given->values, 1, "of one axis");
  return converted<Vector<double>>(given->values);
}

std::optional<double> read_probability(const Archive& archive) {
  const Array* given = find(archive, "probability", Kind::floating);
  if (!given) return std::nullopt;
  require(given->values.size() == 1 && given->values.dimension() <= 1, "CAS.C9", "probability: shape () or (1), got {}",
          to_string(shape_of(given->values)));
  return *given->values.begin();
}

void read_state(const Archive& archive, WeightAxes axes, LayerState<double>& state) {
  state.query_weight = read_weight(archive, "queryWeight", axes);
  state.key_weight = read_weight(archive, "keyWeight", axes);
  state.value_weight = read_weight(archive, "valueWeight", axes);
  state.output_weight = read_weight(archive, "outputWeight", axes);
  state.query_bias = read_vector(archive, "queryBias");
  state.key_bias = read_vector(archive, "keyBias");
  state.value_bias = read_vector(archive, "valueBias");
  state.output_bias = read_vector(archive, "outputBias");
  state.probability = read_probability(archive);
}

/// A number of columns as heads of a width.
std::size_t quotient(std::size_t columns, std::size_t part, const std::string& name, std::string_view what) {
  require(part > 0 && columns > 0 && columns % part == 0, "CAS.C9",
          "{}: columns, (in, out) axes, a multiple of {} {}, got {}", name, part, what, columns);
  return columns / part;
}

LayerConfig config_of(const LayerProblem& problem, const HeadCounts& heads) {
  const LayerState<double>& s = problem.state;
  require(heads.q.has_value(), "CAS.C6", "q_heads: required in a layer case");
  LayerConfig n;
  n.q_heads = *heads.q;
  n.head_width = quotient(s.query_weight.shape(1), n.q_heads, "queryWeight", "heads");
  n.k_heads = quotient(s.key_weight.shape(1), n.head_width, "keyWeight", "channels, as each query head has");
  require(heads.k.value_or(n.k_heads) == n.k_heads, "CAS.C7", "k_heads: {} as in the shape of keyWeight, got {}",
          n.k_heads, heads.k.value_or(0));
  n.v_heads = heads.v.value_or(n.k_heads);
  n.value_width = quotient(s.value_weight.shape(1), n.v_heads, "valueWeight", "heads");
  n.query_input = problem.query.shape(2);
  n.key_input = problem.key.shape(2);
  n.value_input = problem.value.shape(2);
  n.output_width = s.output_weight.shape(1);
  n.input_bias = s.query_bias || s.key_bias || s.value_bias;
  n.output_bias = s.output_bias.has_value();
  n.dropout = s.probability.has_value();
  return n;
}

/// Masks are read against the extents of the projected operands.
Inputs masks_of(const Archive& archive, const LayerProblem& problem) {
  const LayerConfig& n = problem.config;
  Inputs masks;
  masks.q = Tensor<double>(Shape{problem.query.shape(0), n.q_heads, problem.query.shape(1), 1}, 0.0);
  masks.k = Tensor<double>(Shape{problem.query.shape(0), n.k_heads, problem.key.shape(1), 1}, 0.0);
  masks.v = masks.k;
  read_masks(archive, problem.call, masks);
  return masks;
}

Shape file_shape(const OutputName& name, const LayerCase& one) {
  Shape shape = shape_of_output(name, one.problem);
  if (name == "out" && one.record.input_axes == InputAxes::sequence_first) std::swap(shape[0], shape[1]);
  return shape;
}

Tensor<double> in_file_axes(const OutputName& name, const Tensor<double>& values, const LayerCase& one) {
  return name == "out" && one.record.input_axes == InputAxes::sequence_first ? exchanged(values) : values;
}

std::map<OutputName, Output> unpack_answers(const Archive& archive, const LayerCase& one) {
  std::map<OutputName, Output> outputs;
  for (const std::string& name : answers) {
    const Array* given = find(archive, name, Kind::floating);
    if (!given) continue;
    require_shape(name, given->values, file_shape(name, one), "of this layer");
    outputs.emplace(name, Output{*format_of(given->dtype), in_file_axes(name, given->values, one)});
  }
  return outputs;
}

}  // namespace

LayerCase layer_case_from(const Archive& archive, const std::vector<Setting>& overrides) {
  std::map<std::string, std::string> metadata = archive.metadata;
  metadata.erase("schema");
  for (const Setting& setting : overrides) metadata.insert_or_assign(setting.key, setting.value);
  const HeadCounts heads = take_head_counts(metadata);
  require_known(archive);
  LayerCase result;
  result.record = layer_record_from(metadata);
  LayerProblem& problem = result.problem;
  problem.call = result.record.call;
  problem.training = result.record.training;
  problem.zero_attention = result.record.zero_attention;
  read_inputs(archive, result.record.input_axes, problem);
  read_state(archive, result.record.weight_axes, problem.state);
  problem.config = config_of(problem, heads);
  problem.key_row = read_vector(archive, "keyRow");
  problem.value_row = read_vector(archive, "valueRow");
  problem.masks = masks_of(archive, problem);
  check(problem);
  result.outputs = unpack_answers(archive, result);
  return result;
}

std::map<OutputName, Output> outputs_from(const Archive& archive, const LayerCase& one) {
  for (const auto& [name, array] : archive.tensors) {
    require(is_one_of(answers, name), "CAS.C8", "{}: no answer; a layer's are out, weights, mean_weights", name);
  }
  for (const auto& [key, value] : archive.metadata) {
    require(key == "schema" && value == layer_schema, "CAS.C5", "{}: no key of a file of answers but schema {}", key,
            layer_schema);
  }
  return unpack_answers(archive, one);
}

Archive archive_of(const std::map<OutputName, Output>& outputs, const LayerCase& one) {
  Archive archive{{}, {{"schema", layer_schema}}};
  for (const auto& [name, output] : outputs) {
    archive.tensors.emplace(name, Array{dtype_of(output.format), in_file_axes(name, output.values, one)});
  }
  return archive;
}

}  // namespace attest
