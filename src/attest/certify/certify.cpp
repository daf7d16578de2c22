#include "attest/certify/certify.hpp"

#include <algorithm>
#include <mutex>

#include "attest/certify/row.hpp"

namespace attest {

namespace {

/// How many rows of a head are lifted into enclosures at a time: enough to share the keys, few enough to fit in memory.
constexpr std::size_t rows_at_a_time = 64;

/// Some consecutive rows of one head.
struct Chunk {
  std::size_t b, h, first, count;
};

std::vector<Chunk> chunks_of(const Extents& n) {
  std::vector<Chunk> chunks;
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.q_heads; ++h) {
      for (std::size_t i = 0; i < n.queries; i += rows_at_a_time) {
        chunks.push_back({b, h, i, std::min(rows_at_a_time, n.queries - i)});
      }
    }
  }
  return chunks;
}

/// Without values there is no output to evaluate; the other outputs do not read them.
void drop_values(EnclosedHead& operands) {
  const std::size_t keys = operands.head.values.shape(0);
  operands.head.values = Matrix<Enclosure>::from_shape({keys, 0});
  operands.given.values = Matrix<double>::from_shape({keys, 0});
}

/// The work of one call of `certify`, shared by its threads. Threads write disjoint rows.
class Certifier {
 public:
  Certifier(const Problem& problem, std::map<std::string, CertifiedTensor>& outputs, const Ladder& ladder)
      : problem_(problem),
        finite_(all_finite(problem.inputs)),
        finite_part_(finite_ ? problem : finite_part(problem)),
        outputs_(outputs),
        ladder_(ladder) {
    const Extents n = extents(problem.inputs);
    for (const auto& [name, tensor] : outputs) settled_[name].resize(n.batch * n.q_heads * n.queries);
  }

  /// ENC.D2 for the rows of a chunk.
  void certify(const Chunk& chunk) {
    std::vector<std::size_t> pending(chunk.count);
    for (std::size_t n = 0; n < chunk.count; ++n) pending[n] = chunk.first + n;
    climb(ladder_, std::move(pending),
          [&](const std::vector<std::size_t>& rows, int bits) { return attempt(chunk, rows, bits); });
  }

 private:
  /// Evaluates the rows once; returns those that are not decided.
  std::vector<std::size_t> attempt(const Chunk& chunk, const std::vector<std::size_t>& rows, int bits) {
    EnclosedHead operands{head_of<Enclosure>(finite_part_, chunk.b, chunk.h, rows),
                          head_of<double>(problem_, chunk.b, chunk.h, rows), finite_};
    const RowWanted wanted{outputs_.contains("out"), outputs_.contains("lse"), outputs_.contains("weights"),
                           outputs_.contains("scores")};
    if (!wanted.out) drop_values(operands);
    const Extents n = extents(problem_.inputs);
    std::vector<std::size_t> undecided;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const RowValues values = evaluate_row(operands, r, problem_.call, wanted);
      const std::size_t row = (chunk.b * n.q_heads + chunk.h) * n.queries + rows[r];
      if (!store(values, row, bits)) undecided.push_back(rows[r]);
    }
    return undecided;
  }

  /// Keeps a row's values; an output whose row was settled at a lower precision stays as it is.
  bool store(const RowValues& values, std::size_t row, int bits) {
    bool decided = true;
    for (const auto& [name, part] : {std::pair<std::string, const std::vector<Measured>&>{"out", values.out},
                                     {"lse", values.lse},
                                     {"weights", values.weights},
                                     {"scores", values.scores}}) {
      const auto found = outputs_.find(name);
      if (found == outputs_.end() || settled_.at(name)[row]) continue;
      settled_.at(name)[row] = round_elements(found->second, row * part.size(), part);
      decided &= settled_.at(name)[row] != 0;
      const std::lock_guard lock(recording_);
      found->second.bits = std::max(found->second.bits, bits);
    }
    return decided;
  }

  const Problem& problem_;
  const bool finite_;
  const Problem finite_part_;
  std::map<std::string, CertifiedTensor>& outputs_;
  std::map<std::string, std::vector<char>> settled_;  ///< by row, for each output
  const Ladder ladder_;
  std::mutex recording_;
};

}  // namespace

Shape shape_of_output(const std::string& name, const Extents& n) {
  if (name == "out") return {n.batch, n.q_heads, n.queries, n.value_width};
  if (name == "lse") return {n.batch, n.q_heads, n.queries};
  if (name == "present_k") return {n.batch, n.k_heads, n.keys, n.width};
  if (name == "present_v") return {n.batch, n.v_heads, n.keys, n.value_width};
  return {n.batch, n.q_heads, n.queries, n.keys};
}

double cost_of(const Problem& problem) {
  const Extents n = extents(problem.inputs);
  return static_cast<double>(n.batch * n.q_heads) * static_cast<double>(n.queries) * static_cast<double>(n.keys) *
         static_cast<double>(n.width + n.value_width);
}

std::map<std::string, CertifiedTensor> certify(const Problem& problem, const std::map<std::string, Format>& wanted,
                                               const Ladder& ladder, const Progress& progress) {
  check(problem);
  std::map<std::string, CertifiedTensor> outputs;
  for (const auto& [name, format] : wanted) {
    outputs.emplace(name, prepare(format, problem.call.f8_overflow, shape_of_output(name, extents(problem.inputs))));
  }
  Certifier certifier(problem, outputs, ladder);
  const std::vector<Chunk> chunks = chunks_of(extents(problem.inputs));
  for_each_task(
      chunks.size(), [&](std::size_t n) { certifier.certify(chunks[n]); }, progress);
  if (const auto found = outputs.find("present_k"); found != outputs.end()) {
    copy_rounded(found->second, problem.inputs.k);
  }
  if (const auto found = outputs.find("present_v"); found != outputs.end()) {
    copy_rounded(found->second, problem.inputs.v);
  }
  for (auto& [name, tensor] : outputs) settle(name, tensor, ladder);
  return outputs;
}

}  // namespace attest
