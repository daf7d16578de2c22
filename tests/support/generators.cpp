#include "support/generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ostream>
#include <set>

#include "attest/conventions/conventions.hpp"
#include "attest/definitions/attention.hpp"
#include "attest/definitions/mask.hpp"
#include "attest/verdict/rows.hpp"

namespace attest {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

bool one_in(int n) { return *between(0, n) == 0; }

std::size_t extent(int low, int high) { return static_cast<std::size_t>(*between(low, high + 1)); }

std::vector<double> dyadics(std::size_t n, int exponent) {
  // 0, -1, 1, -2, 2, ... so that counterexamples shrink towards 0
  const auto codes = *rc::gen::container<std::vector<int>>(n, between(0, 33));
  std::vector<double> values(n);
  std::ranges::transform(codes, values.begin(),
                         [&](int x) { return std::ldexp(x % 2 == 0 ? x / 2 : -(x + 1) / 2, exponent); });
  return values;
}

Tensor<double> tensor(const Shape& shape, int exponent) {
  const std::vector<double> values = dyadics(element_count(shape), exponent);
  Tensor<double> t = Tensor<double>::from_shape(shape);
  std::ranges::copy(values, t.begin());
  return t;
}

Tensor<bool> booleans(const Shape& shape, int chances_of_false) {
  Tensor<bool> t = Tensor<bool>::from_shape(shape);
  const auto draws = *rc::gen::container<std::vector<int>>(element_count(shape), between(0, 6));
  std::ranges::transform(draws, t.begin(), [&](int x) { return x >= chances_of_false; });
  return t;
}

/// Some axes of extent 1, to be broadcast.
Shape broadcast_shape(Shape full) {
  for (std::size_t axis = 0; axis + 1 < full.size(); ++axis) {
    if (one_in(2)) full[axis] = 1;
  }
  return full;
}

Vector<std::int64_t> lengths(std::size_t batch, std::size_t extent_) {
  return tabulate(batch, [&](std::size_t) { return static_cast<std::int64_t>(extent(0, static_cast<int>(extent_))); });
}

Matrix<std::int64_t> documents(std::size_t batch, std::size_t tokens) {
  return tabulate(batch, tokens, [](std::size_t, std::size_t) { return static_cast<std::int64_t>(extent(0, 1)); });
}

Inputs operands(bool degenerate) {
  const int least = degenerate ? 0 : 1;
  const std::size_t batch = degenerate && one_in(20) ? 0 : extent(1, 2);
  const std::size_t k_heads = extent(1, 2);
  const std::size_t v_heads = extent(1, 2);
  const std::size_t group = k_heads * v_heads == 1 ? *rc::gen::element<std::size_t>(1, 1, 5) : one_in(3) ? 3 : 1;
  const std::size_t q_heads = k_heads * v_heads * group;
  const std::size_t queries = one_in(4) ? extent(least, 5) : extent(1, 4);
  const std::size_t keys = one_in(4) ? extent(least, 6) : extent(1, 6);
  const std::size_t width = extent(1, 5);
  const int score_exponent = *rc::gen::element(-3, -3, -2, -14, 3);
  Inputs in;
  in.q = tensor({batch, q_heads, queries, width}, score_exponent);
  in.k = tensor({batch, k_heads, keys, width}, *rc::gen::element(-3, -2));
  in.v = tensor({batch, v_heads, keys, extent(1, 3)}, *rc::gen::element(-3, -3, 4, -20));
  return in;
}

void add_masks(Problem& p) {
  const Extents n = extents(p.inputs);
  p.call.alignment = *rc::gen::element(Alignment::top_left, Alignment::bottom_right_padded,
                                       Alignment::bottom_right_actual, Alignment::after_past, Alignment::offsets);
  if (p.call.alignment == Alignment::offsets) {
    p.inputs.offsets = tabulate(n.batch, [](std::size_t) { return static_cast<std::int64_t>(*between(-3, 4)); });
  }
  p.inputs.past = extent(0, static_cast<int>(n.keys));
  p.call.causal = one_in(2);
  if (one_in(2)) p.call.window_counts = WindowCounts::self_too;
  const int least = p.call.window_counts == WindowCounts::self_too ? 1 : 0;
  if (one_in(3)) p.call.window_left = *between(least, 3);
  if (one_in(4)) p.call.window_right = *between(least, 3);
  if (one_in(4)) p.inputs.k_lengths = lengths(n.batch, n.keys);
  if (one_in(6)) p.inputs.q_lengths = lengths(n.batch, n.queries);
  if (one_in(6)) p.inputs.prefix_lengths = lengths(n.batch, n.keys);
  if (one_in(6)) {
    p.inputs.key_padding =
        tabulate(n.batch, n.keys, [](std::size_t, std::size_t) { return *rc::gen::element(true, true, false); });
  }
  if (one_in(6)) {
    p.inputs.document_q = documents(n.batch, n.queries);
    p.inputs.document_k = documents(n.batch, n.keys);
  }
  if (one_in(3)) {
    p.inputs.visible = booleans(broadcast_shape({n.batch, n.q_heads, n.queries, n.keys}), *rc::gen::element(2, 5));
  }
}

void add_bias(Problem& p) {
  const Extents n = extents(p.inputs);
  p.inputs.bias = tensor(broadcast_shape({n.batch, n.q_heads, n.queries, n.keys}), -3);
  p.call.bias_position =
      *rc::gen::element(BiasPosition::inside_scale, BiasPosition::before_softcap, BiasPosition::after_softcap);
  if (one_in(2)) {
    std::ranges::for_each(*p.inputs.bias, [](double& b) { b = one_in(5) ? -infinity : b; });
  }
}

void add_dropout(Problem& p) {
  const Extents n = extents(p.inputs);
  p.call.dropout = *rc::gen::element(0.0, 0.25, 0.5, 1.0);
  p.inputs.kept = booleans({n.batch, n.q_heads, n.queries, n.keys}, 2);
}

/// Factors for one or every batch entry and `groups` groups of heads.
Matrix<double> factors(std::size_t batch, std::size_t groups) {
  const std::size_t rows = one_in(2) ? 1 : batch;
  return tabulate(rows, groups, [](std::size_t, std::size_t) { return *rc::gen::element(0.5, 1.0, 2.0, -1.0, 0.25); });
}

void add_descale(Problem& p) {
  const Extents n = extents(p.inputs);
  if (one_in(2)) p.inputs.descale_q = factors(n.batch, one_in(2) ? n.q_heads : 1);
  if (one_in(2)) p.inputs.descale_k = factors(n.batch, one_in(2) ? n.k_heads : 1);
  p.inputs.descale_v = factors(n.batch, one_in(2) ? n.v_heads : 1);
}

}  // namespace

rc::Gen<Problem> calls(const CallSpace& space) {
  return rc::gen::exec([space] {
    Problem p{{}, operands(space.degenerate)};
    if (one_in(3)) p.call.scale = *rc::gen::element(1.0, 0.5, 0.0, -1.0, 2.0);
    if (one_in(2)) p.call.head_map = HeadMap::tiled;
    if (one_in(2)) p.call.lse_base = LseBase::two;
    if (space.masks) add_masks(p);
    if (space.bias && one_in(3)) add_bias(p);
    if (space.softcap && one_in(4)) p.call.softcap = *rc::gen::element(0.5, 2.0, 30.0);
    if (space.sink && one_in(4)) {
      p.call.sink_in_lse = one_in(2);
      p.inputs.sink = Vector<double>::from_shape({extents(p.inputs).q_heads});
      std::ranges::copy(dyadics(p.inputs.sink->size(), -2), p.inputs.sink->begin());
    }
    if (space.dropout && one_in(4)) add_dropout(p);
    if (space.descale && one_in(6)) add_descale(p);
    if (space.alibi && one_in(6)) {
      p.inputs.alibi_slopes = factors(extents(p.inputs).batch, extents(p.inputs).q_heads);
      p.call.alibi_form = *rc::gen::element(AlibiForm::distance, AlibiForm::signed_);
    }
    return p;
  });
}

rc::Gen<Problem> plain_calls() {
  return calls({.bias = false,
                .softcap = false,
                .sink = false,
                .masks = false,
                .dropout = false,
                .alibi = false,
                .descale = false,
                .degenerate = false});
}

rc::Gen<std::vector<double>> rows(std::size_t m) {
  return rc::gen::exec([m] { return dyadics(m, *rc::gen::element(-3, -3, 0, 4, -30, -60)); });
}

rc::Gen<std::vector<bool>> visible_rows(std::size_t m) {
  return rc::gen::exec([m] {
    const int least = *rc::gen::element(0, 2, 3, 6);
    std::vector<bool> visible(m);
    for (std::size_t j = 0; j < m; ++j) visible[j] = *between(0, 6) >= least;
    if (m > 0 && one_in(5)) {
      visible.assign(m, false);
      visible[extent(0, static_cast<int>(m) - 1)] = true;
    }
    return visible;
  });
}

rc::Gen<Tensor<double>> tensors(const Shape& shape, int exponent) {
  return rc::gen::exec([=] { return tensor(shape, exponent); });
}

Matrix<bool> visible_matrix(const Problem& problem, std::size_t b, std::size_t h) {
  const Extents n = extents(problem.inputs);
  return tabulate(n.queries, n.keys, [&](std::size_t i, std::size_t j) { return is_visible(problem, b, h, i, j); });
}

namespace {

/// The classes that the visible logits of one row show.
void classify_row(std::set<std::string>& classes, const AttendedRow<double>& row, bool sink) {
  if (row.keys.empty()) classes.insert(sink ? "empty row with a sink" : "empty row");
  if (row.keys.size() == 1) classes.insert("one visible key");
  std::vector<double> logits(row.logits.begin(), row.logits.end());
  std::ranges::sort(logits);
  if (std::ranges::adjacent_find(logits) != logits.end()) classes.insert("tie");
  for (const double s : logits) {
    if (std::fabs(s) > 20) classes.insert("huge score");
    if (s != 0 && std::fabs(s) < 0x1p-8) classes.insert("tiny score");
  }
  if (std::ranges::any_of(logits, [](double s) { return s < 0; }) &&
      std::ranges::any_of(logits, [](double s) { return s > 0; })) {
    classes.insert("mixed signs");
  }
}

}  // namespace

std::vector<std::string> classes_of(const Problem& problem) {
  const Extents n = extents(problem.inputs);
  std::set<std::string> classes;
  if (n.batch == 0) classes.insert("no batch");
  if (n.queries == 0) classes.insert("no queries");
  if (n.keys == 0) classes.insert("no keys");
  if (n.queries > n.keys) classes.insert("more queries than keys");
  if (n.queries < n.keys) classes.insert("more keys than queries");
  if (n.q_heads > n.k_heads && n.k_heads > 1) classes.insert("grouped heads");
  if (n.k_heads != n.v_heads) classes.insert("key and value heads differ");
  if (n.q_heads == 6 && n.k_heads == 2) classes.insert("heads 6:2");
  if (n.q_heads == 5 && n.k_heads == 1) classes.insert("heads 5:1");
  if (n.width % 2 == 1) classes.insert("odd width");
  if (problem.inputs.sink) classes.insert("sink");
  if (problem.inputs.bias) classes.insert("bias");
  if (problem.call.softcap) classes.insert("softcap");
  if (problem.call.dropout) classes.insert("dropout");
  if (problem.inputs.alibi_slopes) classes.insert("alibi");
  if (problem.inputs.descale_v) classes.insert("descale");
  for (const AttendedRow<double>& row : attention<double>(problem).rows) {
    classify_row(classes, row, problem.inputs.sink.has_value());
  }
  return {classes.begin(), classes.end()};
}

Problem poisoned(const Problem& problem) {
  const Extents n = extents(problem.inputs);
  Problem result = problem;
  const double poison[] = {std::numeric_limits<double>::quiet_NaN(), infinity, -infinity};
  for (std::size_t b = 0; b < n.batch; ++b) {
    for (std::size_t j = 0; j < n.keys; ++j) {
      std::vector<bool> k_seen(n.k_heads), v_seen(n.v_heads);
      for (std::size_t h = 0; h < n.q_heads; ++h) {
        for (std::size_t i = 0; i < n.queries; ++i) {
          if (!is_visible(problem, b, h, i, j)) continue;
          k_seen[key_head(h, n.q_heads, n.k_heads, problem.call.head_map)] = true;
          v_seen[key_head(h, n.q_heads, n.v_heads, problem.call.head_map)] = true;
        }
      }
      for (std::size_t h = 0; h < n.k_heads; ++h) {
        for (std::size_t c = 0; !k_seen[h] && c < n.width; ++c) result.inputs.k(b, h, j, c) = poison[(j + c) % 3];
      }
      for (std::size_t h = 0; h < n.v_heads; ++h) {
        for (std::size_t c = 0; !v_seen[h] && c < n.value_width; ++c) result.inputs.v(b, h, j, c) = poison[(j + c) % 3];
      }
    }
  }
  return result;
}

std::ostream& operator<<(std::ostream& out, const Problem& problem) {
  const Extents n = extents(problem.inputs);
  out << fmt::format("batch {} heads {}:{}:{} queries {} keys {} width {} value width {}\n", n.batch, n.q_heads,
                     n.k_heads, n.v_heads, n.queries, n.keys, n.width, n.value_width);
  for (const Setting& setting : describe(problem.call)) out << setting.key << "=" << setting.value << " ";
  for (std::size_t b = 0; b < n.batch; ++b) {
    out << "\nvisible(b " << b << ", h 0):";
    const Matrix<bool> visible = n.q_heads > 0 ? visible_matrix(problem, b, 0) : Matrix<bool>();
    for (std::size_t i = 0; i < n.queries; ++i) {
      out << " ";
      for (std::size_t j = 0; j < n.keys; ++j) out << (visible(i, j) ? '1' : '0');
    }
  }
  const auto print = [&](std::string_view name, const Tensor<double>& t) {
    out << "\n" << name << ":";
    for (const double x : t) out << " " << x;
  };
  print("q", problem.inputs.q);
  print("k", problem.inputs.k);
  print("v", problem.inputs.v);
  if (problem.inputs.bias) print("bias", *problem.inputs.bias);
  return out << "\n";
}

}  // namespace attest
