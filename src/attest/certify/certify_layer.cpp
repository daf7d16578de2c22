#include "attest/certify/certify_layer.hpp"

#include <algorithm>
#include <mutex>

#include "attest/certify/certify.hpp"
#include "attest/certify/row.hpp"

namespace attest {

namespace {

/// How many query rows are projected at a time: enough to share the keys, few enough to fit in memory.
constexpr std::size_t rows_at_a_time = 64;

/// The layer whose numbers are the magnitudes of the given one's. Its projected operands are |x| |W| + |b|, which is
/// what the rounding errors of a projection are relative to.
LayerProblem magnitudes_of(LayerProblem problem) {
  const auto absolute = [](auto& numbers) {
    for (double& x : numbers) x = std::fabs(x);
  };
  LayerState<double>& s = problem.state;
  for (auto* input : {&problem.query, &problem.key, &problem.value}) absolute(*input);
  for (auto* weight : {&s.query_weight, &s.key_weight, &s.value_weight}) absolute(*weight);
  for (auto* slot : {&s.query_bias, &s.key_bias, &s.value_bias, &problem.key_row, &problem.value_row}) {
    if (*slot) absolute(**slot);
  }
  return problem;
}

/// The value of a sum of products of which one operand may be the NaN of an empty row.
bool is_special(const Measured& measured) { return std::holds_alternative<double>(measured.value); }

using Rows = std::vector<std::vector<Measured>>;

/// MHA.D11 and ENC.D8 of one query: the output row from the heads' outputs side by side. One NaN makes all of it NaN.
std::vector<Measured> output_of(const std::vector<Measured>& merged, const Matrix<Enclosure>& weight,
                                const std::optional<Vector<Enclosure>>& bias, const LayerState<double>& state) {
  const auto special = std::ranges::find_if(merged, is_special);
  std::vector<Measured> output;
  Vector<Enclosure> values;
  if (special == merged.end()) {
    values = output_row(tabulate(merged.size(), [&](std::size_t c) { return std::get<Enclosure>(merged[c].value); }),
                        weight, bias);
  }
  for (std::size_t e = 0; e < weight.shape(1); ++e) {
    const double unit =
        (bias ? std::fabs((*state.output_bias)(e)) : 0.0) +
        sum_over<double>(merged.size(), [&](auto c) { return merged[c].unit * std::fabs(state.output_weight(c, e)); });
    output.push_back({special == merged.end() ? Value(values(e)) : special->value, unit});
  }
  return output;
}

/// MHA.D12 of one query: the weights of its heads averaged, and their units.
std::vector<Measured> mean_of(const Rows& weights) {
  std::vector<Measured> mean;
  const auto heads = static_cast<double>(weights.size());
  for (std::size_t j = 0; j < weights[0].size(); ++j) {
    std::vector<Vector<Enclosure>> values;
    double unit = 0;
    const Measured* special = nullptr;
    for (const auto& row : weights) {
      if (is_special(row[j])) special = &row[j];
      if (!special) values.push_back(Vector<Enclosure>({1}, std::get<Enclosure>(row[j].value)));
      unit += row[j].unit / heads;
    }
    mean.push_back({special ? special->value : Value(mean_weights(values)(0)), unit});
  }
  return mean;
}

/// Some query rows of one batch entry in one precision.
class Entry {
 public:
  Entry(const LayerProblem& problem, const Problem& inner, std::size_t b, const std::vector<std::size_t>& rows,
        bool weights)
      : problem_(problem),
        call_(inner.call),
        wanted_{.out = true, .lse = false, .weights = weights, .scores = false},
        weight_(lift_matrix<Enclosure>(problem.state.output_weight)),
        bias_(lift_slot<Enclosure>(problem.state.output_bias)) {
    std::vector<Head<Enclosure>> heads = layer_heads<Enclosure>(problem, inner, b, rows);
    std::vector<Head<double>> given = layer_heads<double>(magnitudes_of(problem), inner, b, rows);
    for (std::size_t h = 0; h < heads.size(); ++h) heads_.push_back({std::move(heads[h]), std::move(given[h]), true});
  }

  /// Every output of row n of those given; weights have a row for each head.
  std::map<std::string, Rows> evaluate(std::size_t n) const {
    Rows weights;
    std::vector<Measured> merged;
    for (const EnclosedHead& head : heads_) {
      RowValues row = evaluate_row(head, n, call_, wanted_);
      std::ranges::copy(row.out, std::back_inserter(merged));
      weights.push_back(std::move(row.weights));
    }
    std::vector<Measured> mean = mean_of(weights);
    return {{"out", {output_of(merged, weight_, bias_, problem_.state)}},
            {"weights", std::move(weights)},
            {"mean_weights", {std::move(mean)}}};
  }

 private:
  const LayerProblem& problem_;
  const Call& call_;
  const RowWanted wanted_;
  std::vector<EnclosedHead> heads_;
  const Matrix<Enclosure> weight_;
  const std::optional<Vector<Enclosure>> bias_;
};

/// Where row i of batch entry b, and of head h, begins in an output.
std::size_t first_element(const std::string& name, const CertifiedTensor& tensor, std::size_t b, std::size_t h,
                          std::size_t i) {
  const Shape& n = tensor.shape;
  return (name == "weights" ? (b * n[1] + h) * n[2] + i : b * n[1] + i) * n.back();
}

/// Rounds every output of row i; true when all of it is decided.
bool round_row(std::map<std::string, CertifiedTensor>& outputs, const std::map<std::string, Rows>& values,
               std::size_t b, std::size_t i) {
  bool decided = true;
  for (auto& [name, tensor] : outputs) {
    const Rows& rows = values.at(name);
    for (std::size_t h = 0; h < rows.size(); ++h) {
      decided &= round_elements(tensor, first_element(name, tensor, b, h, i), rows[h]);
    }
  }
  return decided;
}

struct Chunk {
  std::size_t b;
  std::vector<std::size_t> rows;
};

std::vector<Chunk> chunks_of(const Tensor<double>& query) {
  std::vector<Chunk> chunks;
  for (std::size_t b = 0; b < query.shape(0); ++b) {
    for (std::size_t i = 0; i < query.shape(1); ++i) {
      if (i % rows_at_a_time == 0) chunks.push_back({b, {}});
      chunks.back().rows.push_back(i);
    }
  }
  return chunks;
}

}  // namespace

double cost_of(const LayerProblem& problem) {
  const LayerConfig& n = problem.config;
  const double in = static_cast<double>(problem.query.size() * n.q_heads * n.head_width) +
                    static_cast<double>(problem.key.size() * n.k_heads * n.head_width) +
                    static_cast<double>(problem.value.size() * n.v_heads * n.value_width);
  const auto rows = static_cast<double>(problem.query.shape(0) * problem.query.shape(1));
  return in + cost_of(inner_problem(problem)) +
         rows * static_cast<double>(n.q_heads * n.value_width) * static_cast<double>(n.output_width);
}

std::map<std::string, CertifiedTensor> certify(const LayerProblem& problem, const std::map<std::string, Format>& wanted,
                                               const Ladder& ladder, const Progress& progress) {
  check(problem);
  const Problem inner = inner_problem(problem);
  std::map<std::string, CertifiedTensor> outputs;
  for (const auto& [name, format] : wanted) {
    outputs.emplace(name, prepare(format, problem.call.f8_overflow, shape_of_output(name, problem)));
  }
  const std::vector<Chunk> chunks = chunks_of(problem.query);
  std::mutex recording;
  const auto certify_chunk = [&](std::size_t n) {
    const std::size_t b = chunks[n].b;
    climb(ladder, chunks[n].rows, [&](const std::vector<std::size_t>& rows, int bits) {
      const Entry entry(problem, inner, b, rows, outputs.contains("weights") || outputs.contains("mean_weights"));
      std::vector<std::size_t> undecided;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (!round_row(outputs, entry.evaluate(r), b, rows[r])) undecided.push_back(rows[r]);
      }
      const std::lock_guard lock(recording);
      for (auto& [name, tensor] : outputs) tensor.bits = std::max(tensor.bits, bits);
      return undecided;
    });
  };
  for_each_task(chunks.size(), certify_chunk, progress);
  for (auto& [name, tensor] : outputs) settle(name, tensor, ladder);
  return outputs;
}

}  // namespace attest
