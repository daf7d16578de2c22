#include "attest/certify/certify_gradient.hpp"

#include <algorithm>
#include <numeric>
#include <thread>

#include "attest/certify/certify.hpp"
#include "attest/certify/gradient_row.hpp"
#include "attest/certify/parallel.hpp"
#include "attest/definitions/mask.hpp"
#include "attest/definitions/nonfinite.hpp"

namespace attest {

namespace {

/// How many rows of a head are one task: enough to share the keys, few enough to keep every core busy.
constexpr std::size_t rows_at_a_time = 32;

bool is_padding(const Inputs& in, std::size_t b, std::size_t i) {
  return in.q_lengths && static_cast<std::int64_t>(i) >= (*in.q_lengths)(b);
}

/// Refuses what is neither finite nor beyond every visible pair: ENC.C1.
class FiniteCheck {
 public:
  FiniteCheck(const Problem& problem, const Cotangents& cotangents)
      : problem_(problem), cotangents_(cotangents), n_(extents(problem.inputs)) {}

  void row(std::size_t b, std::size_t h, std::size_t i) const {
    const Inputs& in = problem_.inputs;
    const HeadMap map = problem_.call.head_map;
    bool sees = false;
    for (std::size_t j = 0; j < n_.keys; ++j) {
      if (!is_visible(problem_, b, h, i, j)) continue;
      sees = true;
      channels(in.k, b, key_head(h, n_.q_heads, n_.k_heads, map), j, "k");
      channels(in.v, b, key_head(h, n_.q_heads, n_.v_heads, map), j, "v");
    }
    if (sees) channels(in.q, b, h, i, "q");
    if (sees) channels(cotangents_.out, b, h, i, "dout");
    if (cotangents_.lse && !is_padding(in, b, i)) finite((*cotangents_.lse)(b, h, i), "dlse");
  }

 private:
  static void channels(const Tensor<double>& t, std::size_t b, std::size_t h, std::size_t s, std::string_view name) {
    for (std::size_t c = 0; c < t.shape(3); ++c) finite(t(b, h, s, c), name);
  }

  static void finite(double x, std::string_view name) {
    require(std::isfinite(x), "ENC.C1", "{}: gradients need finite numbers wherever a visible pair reads one, got {}",
            name, x);
  }

  const Problem& problem_;
  const Cotangents& cotangents_;
  const Extents n_;
};

void require_cotangents(const Tensor<double>& t, const Shape& due, std::string_view name) {
  const Shape got(t.shape().begin(), t.shape().end());
  require(got == due, "GRD.C1", "{}: shape {}, got {}", name, to_string(due), to_string(got));
}

void check_gradients(const Problem& problem, const Cotangents& cotangents) {
  const Extents n = extents(problem.inputs);
  require_cotangents(cotangents.out, {n.batch, n.q_heads, n.queries, n.value_width}, "dout");
  if (cotangents.lse) require_cotangents(*cotangents.lse, {n.batch, n.q_heads, n.queries}, "dlse");
  const FiniteCheck check(problem, cotangents);
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t h = 0; h < n.q_heads; ++h) {
      for (std::size_t i = 0; i < n.queries; ++i) check.row(b, h, i);
    }
  }
}

/// The query heads of a batch entry that share a key head or a value head, and no head with any other.
struct Group {
  std::size_t b;
  std::vector<std::size_t> heads;
};

std::vector<Group> groups_of(const Problem& problem) {
  const Extents n = extents(problem.inputs);
  if (n.q_heads == 0) return {};
  const bool tiled = problem.call.head_map == HeadMap::tiled;
  const std::size_t together = std::lcm(n.q_heads / n.k_heads, n.q_heads / n.v_heads);
  const std::size_t count = tiled ? std::gcd(n.k_heads, n.v_heads) : n.q_heads / together;
  std::vector<Group> groups;
  for (std::size_t b = 0; b < n.batch; ++b) {
    const std::size_t first = groups.size();
    for (std::size_t g = 0; g < count; ++g) groups.push_back({b, {}});
    for (std::size_t h = 0; h < n.q_heads; ++h) groups[first + (tiled ? h % count : h / together)].heads.push_back(h);
  }
  return groups;
}

/// Some consecutive rows of one head of a group.
struct Block {
  std::size_t group, h, first, count;
};

/// What some rows of a head add to every gradient, and to every unit.
struct Share {
  HeadGradient<Enclosure> values;
  HeadGradient<double> units;
};

/// Values and units of one gradient, element by element, and which of them are settled.
struct Sums {
  std::vector<Enclosure> values;
  std::vector<double> units;

  explicit Sums(std::size_t n) : values(n, Enclosure(0)), units(n, 0.0) {}

  void add(std::size_t n, const Enclosure& value, double unit) {
    values[n] = values[n] + value;
    units[n] += unit;
  }

  std::vector<Measured> part(std::size_t first, std::size_t count) const {
    std::vector<Measured> measured;
    for (std::size_t n = first; n < first + count; ++n) measured.push_back({values[n], units[n]});
    return measured;
  }
};

/// The work of one call of `certify_gradients`.
class Certifier {
 public:
  Certifier(const Problem& problem, const Cotangents& cotangents, std::map<std::string, CertifiedTensor>& outputs)
      : problem_(problem),
        finite_(all_finite(problem.inputs) ? problem : finite_part(problem)),
        cotangents_(cotangents),
        n_(extents(problem.inputs)),
        groups_(groups_of(problem)),
        settled_(groups_.size()),
        outputs_(outputs) {}

  /// One precision: every group that is not settled, or all while a sum over groups is not. True when all is settled.
  bool attempt(int bits, const Progress& progress) {
    std::vector<Block> blocks;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!settled_[g] || !sums_settled_) add_blocks(g, blocks);
    }
    start_sums();
    const std::size_t wave = 4 * std::max(1u, std::thread::hardware_concurrency());
    for (std::size_t first = 0; first < blocks.size(); first += wave) {
      run({blocks.begin() + static_cast<std::ptrdiff_t>(first),
           blocks.begin() + static_cast<std::ptrdiff_t>(std::min(first + wave, blocks.size()))},
          bits);
      if (progress) progress(std::min(first + wave, blocks.size()), blocks.size());
    }
    finish_group(bits);
    finish_sums(bits);
    return sums_settled_ && std::ranges::all_of(settled_, [](bool s) { return s; });
  }

 private:
  bool wants(const std::string& name) const { return outputs_.contains(name); }

  void add_blocks(std::size_t g, std::vector<Block>& blocks) const {
    for (const std::size_t h : groups_[g].heads) {
      for (std::size_t i = 0; i < n_.queries; i += rows_at_a_time) {
        blocks.push_back({g, h, i, std::min(rows_at_a_time, n_.queries - i)});
      }
    }
  }

  /// Blocks side by side, then their shares added up in order, so that the sums do not depend on the threads.
  void run(const std::vector<Block>& blocks, int bits) {
    std::vector<std::optional<Share>> shares(blocks.size());
    for_each_task(blocks.size(),
                  [&](std::size_t n) { with_precision(bits, [&] { shares[n] = share_of(blocks[n]); }); });
    for (std::size_t n = 0; n < blocks.size(); ++n) {
      if (current_ != blocks[n].group) start_group(blocks[n].group, bits);
      collect(blocks[n], *shares[n]);
      shares[n].reset();
    }
  }

  /// The rows of a block backwards. The cotangents of padding are nobody's business and count as 0.
  Share share_of(const Block& block) const {
    const std::size_t b = groups_[block.group].b;
    std::vector<std::size_t> rows(block.count);
    std::iota(rows.begin(), rows.end(), block.first);
    const Head<Enclosure> head = head_of<Enclosure>(finite_, b, block.h, rows);
    const Head<double> given = head_of<double>(finite_, b, block.h, rows);
    const auto cotangent = [&](double x, std::size_t i) {
      return is_padding(problem_.inputs, b, rows[i]) || !std::isfinite(x) ? 0.0 : x;
    };
    const Matrix<double> g = tabulate(rows.size(), n_.value_width, [&](std::size_t i, std::size_t c) {
      return cotangent(cotangents_.out(b, block.h, rows[i], c), i);
    });
    const Matrix<Enclosure> lifted =
        tabulate(g.shape(0), g.shape(1), [&](std::size_t i, std::size_t c) { return lift<Enclosure>(g(i, c)); });
    std::vector<RowGradient<Enclosure>> values;
    std::vector<RowGradient<double>> units;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::optional<double> g_lse;
      if (cotangents_.lse) g_lse = cotangent((*cotangents_.lse)(b, block.h, rows[i]), i);
      const CentredRow row = centred_row_gradient(head, i, row_of(lifted, i),
                                                  g_lse ? std::optional(lift<Enclosure>(*g_lse)) : std::nullopt);
      units.push_back(gradient_magnitudes(given, i, row, row_of(g, i), g_lse));
      values.push_back(row.gradient);
    }
    const Matrix<double> magnitudes =
        tabulate(g.shape(0), g.shape(1), [&](std::size_t i, std::size_t c) { return std::fabs(g(i, c)); });
    return {gradient_of_rows(head, values, lifted), gradient_of_rows(magnitudes_of(given), units, magnitudes)};
  }

  void start_sums() {
    current_.reset();
    if (sums_settled_) return;
    bias_.emplace(wants("dbias") ? problem_.inputs.bias->size() : 0);
    sink_.emplace(wants("dsink") ? n_.q_heads : 0);
  }

  void start_group(std::size_t g, int bits) {
    finish_group(bits);
    current_ = g;
    keys_.clear();
    values_.clear();
    queries_.clear();
  }

  Sums& sums(std::map<std::size_t, Sums>& heads, std::size_t h, std::size_t size) {
    return heads.try_emplace(h, size).first->second;
  }

  void collect(const Block& block, const Share& share) {
    const std::size_t b = groups_[block.group].b, h = block.h;
    const HeadMap map = problem_.call.head_map;
    const auto add = [](Sums& to, std::size_t first, const Matrix<Enclosure>& values, const Matrix<double>& units) {
      for (std::size_t n = 0; n < values.size(); ++n) to.add(first + n, values.data()[n], units.data()[n]);
    };
    if (!settled_[block.group]) {
      add(sums(queries_, h, n_.queries * n_.width), block.first * n_.width, share.values.queries, share.units.queries);
      add(sums(keys_, key_head(h, n_.q_heads, n_.k_heads, map), n_.keys * n_.width), 0, share.values.keys,
          share.units.keys);
      add(sums(values_, key_head(h, n_.q_heads, n_.v_heads, map), n_.keys * n_.value_width), 0, share.values.values,
          share.units.values);
    }
    if (sums_settled_) return;
    if (wants("dbias")) collect_bias(b, block, share);
    if (wants("dsink") && share.values.sink) sink_->add(h, *share.values.sink, *share.units.sink);
  }

  /// An entry of the bias collects from every pair that it was broadcast to.
  void collect_bias(std::size_t b, const Block& block, const Share& share) {
    const Tensor<double>& bias = *problem_.inputs.bias;
    const auto along = [&](std::size_t axis, std::size_t index) { return bias.shape(axis) == 1 ? 0 : index; };
    for (std::size_t i = 0; i < block.count; ++i) {
      for (std::size_t j = 0; j < n_.keys; ++j) {
        std::size_t n = along(0, b);
        n = n * bias.shape(1) + along(1, block.h);
        n = n * bias.shape(2) + along(2, block.first + i);
        n = n * bias.shape(3) + along(3, j);
        bias_->add(n, (*share.values.bias)(i, j), (*share.units.bias)(i, j));
      }
    }
  }

  /// Rounds one output from `first` on, unless it is settled there.
  bool round(const std::string& name, std::size_t first, const Sums& sums, int bits) {
    const auto found = outputs_.find(name);
    if (found == outputs_.end()) return true;
    found->second.bits = std::max(found->second.bits, bits);
    return round_elements(found->second, first, sums.part(0, sums.values.size()));
  }

  void finish_group(int bits) {
    if (!current_ || settled_[*current_]) return;
    const std::size_t b = groups_[*current_].b;
    bool decided = true;
    for (const auto& [h, sums] : queries_)
      decided &= round("dq", (b * n_.q_heads + h) * sums.values.size(), sums, bits);
    for (const auto& [h, sums] : keys_) decided &= round("dk", (b * n_.k_heads + h) * sums.values.size(), sums, bits);
    for (const auto& [h, sums] : values_) decided &= round("dv", (b * n_.v_heads + h) * sums.values.size(), sums, bits);
    settled_[*current_] = decided;
  }

  void finish_sums(int bits) {
    if (sums_settled_) return;
    sums_settled_ = true;
    if (wants("dbias")) sums_settled_ &= round("dbias", 0, *bias_, bits);
    if (wants("dsink")) sums_settled_ &= round("dsink", 0, *sink_, bits);
  }

  const Problem& problem_;
  const Problem finite_;
  const Cotangents& cotangents_;
  const Extents n_;
  const std::vector<Group> groups_;
  std::vector<bool> settled_;                            ///< by group: dq, dk, dv
  bool sums_settled_ = false;                            ///< dbias and dsink, which every group adds to
  std::optional<std::size_t> current_;                   ///< the group whose sums are being made
  std::map<std::size_t, Sums> queries_, keys_, values_;  ///< by head
  std::optional<Sums> bias_, sink_;
  std::map<std::string, CertifiedTensor>& outputs_;
};

}  // namespace

bool is_gradient(const std::string& name) {
  return name == "dq" || name == "dk" || name == "dv" || name == "dbias" || name == "dsink";
}

Shape shape_of_gradient(const std::string& name, const Inputs& in) {
  const auto shape = [](const auto& t) { return Shape(t.shape().begin(), t.shape().end()); };
  if (name == "dbias") {
    require(in.bias.has_value(), "CAS.C8", "dbias: only with bias");
    return shape(*in.bias);
  }
  if (name == "dsink") {
    require(in.sink.has_value(), "CAS.C8", "dsink: only with sink");
    return shape(*in.sink);
  }
  return shape(name == "dq" ? in.q : name == "dk" ? in.k : in.v);
}

double cost_of_gradients(const Problem& problem) { return 2.5 * cost_of(problem); }

std::map<std::string, CertifiedTensor> certify_gradients(const Problem& problem, const Cotangents& cotangents,
                                                         const std::map<std::string, Format>& wanted,
                                                         const Ladder& ladder, const Progress& progress) {
  check(problem);
  check_gradients(problem, cotangents);
  std::map<std::string, CertifiedTensor> outputs;
  for (const auto& [name, format] : wanted) {
    outputs.emplace(name, prepare(format, problem.call.f8_overflow, shape_of_gradient(name, problem.inputs)));
  }
  Certifier certifier(problem, cotangents, outputs);
  for (int bits = ladder.first; bits <= ladder.cap; bits *= 2) {
    if (with_precision(bits, [&] { return certifier.attempt(bits, progress); })) break;
  }
  for (auto& [name, tensor] : outputs) settle(name, tensor, ladder);
  return outputs;
}

}  // namespace attest
