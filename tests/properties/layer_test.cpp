/// Chapter 06: projections around the heads, and the layer.

#include "attest/definitions/layer.hpp"

#include "support/layers.hpp"
#include "support/property.hpp"

namespace attest {
namespace {

void classify(const LayerProblem& problem) {
  for (const std::string& name : classes_of(problem)) RC_TAG(name);
}

template <class T>
bool same_bits(const Matrix<T>& a, const Matrix<T>& b) {
  return a.shape() == b.shape() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const T& x, const T& y) { return attest::same_bits(x, y); });
}

/// The same numbers; a zero has no sign.
template <class T>
bool same_numbers(const Vector<T>& a, const Vector<T>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

template <class T>
void same_outputs(const LayerProblem& a, const LayerProblem& b) {
  const std::vector<LayerRow<T>> x = layer<T>(a);
  const std::vector<LayerRow<T>> y = layer<T>(b);
  RC_ASSERT(x.size() == y.size());
  for (std::size_t r = 0; r < x.size(); ++r) RC_ASSERT(attest::same_bits(x[r].output, y[r].output));
}

std::vector<Matrix<double>> some_heads(std::size_t count, std::size_t rows, std::size_t width) {
  std::vector<Matrix<double>> heads;
  for (std::size_t h = 0; h < count; ++h) heads.push_back(*matrices(rows, width));
  return heads;
}

template <class T>
std::vector<Matrix<T>> lifted(const std::vector<Matrix<double>>& heads) {
  std::vector<Matrix<T>> result;
  for (const Matrix<double>& head : heads) result.push_back(lift_matrix<T>(head));
  return result;
}

PROPERTY(MHA_P1, splitting_is_a_bijection) {
  const std::size_t count = *between<std::size_t>(1, 5);
  const std::vector<Matrix<double>> heads = some_heads(count, *between<std::size_t>(0, 4), *between<std::size_t>(1, 4));
  const Matrix<double> merged = merge_heads(heads);
  const std::vector<Matrix<double>> split = split_heads(merged, count);
  RC_ASSERT(split.size() == count);
  for (std::size_t h = 0; h < count; ++h) RC_ASSERT(same_bits(split[h], heads[h]));
  RC_ASSERT(same_bits(merge_heads(split), merged));
}

template <class T>
void packed_is_per_head(const Matrix<double>& x, const std::vector<Matrix<double>>& weights) {
  const std::vector<Matrix<T>> each = project_heads(lift_matrix<T>(x), lifted<T>(weights));
  const std::vector<Matrix<T>> packed =
      split_heads(affine(lift_matrix<T>(x), merge_heads(lifted<T>(weights)), {}), weights.size());
  for (std::size_t h = 0; h < weights.size(); ++h) RC_ASSERT(same_bits(packed[h], each[h]));
}

PROPERTY(MHA_P2, packed_projection_is_the_projection_for_each_head) {
  const std::size_t in = *between<std::size_t>(1, 5);
  const Matrix<double> x = *matrices(3, in);
  const std::vector<Matrix<double>> weights = some_heads(*between<std::size_t>(1, 4), in, *between<std::size_t>(1, 4));
  packed_is_per_head<double>(x, weights);
  packed_is_per_head<float>(x, weights);
  packed_is_per_head<RoundedBF16>(x, weights);
}

/// A vector of zeros for each bias that the layer lacks.
LayerProblem with_zero_biases(LayerProblem layer) {
  const auto zeros = [](std::size_t n) { return tabulate(n, [](std::size_t) { return 0.0; }); };
  LayerConfig& n = layer.config;
  n.input_bias = n.output_bias = true;
  layer.state.query_bias = zeros(n.q_heads * n.head_width);
  layer.state.key_bias = zeros(n.k_heads * n.head_width);
  layer.state.value_bias = zeros(n.v_heads * n.value_width);
  layer.state.output_bias = zeros(n.output_width);
  return layer;
}

template <class T>
void same_but_for_zeros(const LayerProblem& a, const LayerProblem& b) {
  const std::vector<LayerRow<T>> x = layer<T>(a);
  const std::vector<LayerRow<T>> y = layer<T>(b);
  for (std::size_t r = 0; r < x.size(); ++r) RC_ASSERT(same_numbers(x[r].output, y[r].output));
}

PROPERTY(MHA_P3, a_bias_of_zeros_is_no_bias) {
  const LayerProblem plain = *layers({.biases = false});
  classify(plain);
  same_but_for_zeros<double>(plain, with_zero_biases(plain));
  same_but_for_zeros<RoundedBF16>(plain, with_zero_biases(plain));
}

/// The columns of one head for every query head that reads it.
Matrix<double> repeated(const Matrix<double>& weight, std::size_t heads, std::size_t q_heads, HeadMap map) {
  const std::vector<Matrix<double>> split = split_heads(weight, heads);
  std::vector<Matrix<double>> each;
  for (std::size_t h = 0; h < q_heads; ++h) each.push_back(split[key_head(h, q_heads, heads, map)]);
  return merge_heads(each);
}

std::optional<Vector<double>> repeated(const std::optional<Vector<double>>& bias, std::size_t heads,
                                       std::size_t q_heads, HeadMap map) {
  if (!bias) return std::nullopt;
  const Matrix<double> row =
      repeated(tabulate(1, bias->size(), [&](std::size_t, std::size_t c) { return (*bias)(c); }), heads, q_heads, map);
  return tabulate(row.size(), [&](std::size_t c) { return row(0, c); });
}

PROPERTY(MHA_P4, grouped_layer_equals_the_layer_with_repeated_weights) {
  const LayerProblem grouped = *layers();
  classify(grouped);
  LayerProblem all = grouped;
  const LayerConfig& n = grouped.config;
  const HeadMap map = grouped.call.head_map;
  all.config.k_heads = all.config.v_heads = n.q_heads;
  all.state.key_weight = repeated(grouped.state.key_weight, n.k_heads, n.q_heads, map);
  all.state.value_weight = repeated(grouped.state.value_weight, n.v_heads, n.q_heads, map);
  all.state.key_bias = repeated(grouped.state.key_bias, n.k_heads, n.q_heads, map);
  all.state.value_bias = repeated(grouped.state.value_bias, n.v_heads, n.q_heads, map);
  all.key_row = repeated(grouped.key_row, n.k_heads, n.q_heads, map);
  all.value_row = repeated(grouped.value_row, n.v_heads, n.q_heads, map);
  same_outputs<double>(grouped, all);
  same_outputs<float>(grouped, all);
}

/// A layer without anything that a layer of lists lacks.
rc::Gen<LayerProblem> plain_layers() {
  return rc::gen::map(layers({.biases = false,
                              .dropout = false,
                              .added_keys = false,
                              .inside = {.bias = false,
                                         .softcap = false,
                                         .sink = false,
                                         .masks = false,
                                         .alibi = false,
                                         .descale = false,
                                         .degenerate = false}}),
                      [](LayerProblem layer) {
                        layer.call.scale = std::nullopt;
                        return layer;
                      });
}

PROPERTY(MHA_P5, layer_of_lists_is_the_packed_layer) {
  LayerProblem packed = *plain_layers();
  const LayerConfig& n = packed.config;
  RC_PRE(n.q_heads == n.k_heads && n.q_heads == n.v_heads);
  RC_CLASSIFY(n.q_heads > 1, "several heads");
  const PrecisionScope scope(property_bits);
  const auto list = [&](const Matrix<double>& weight) {
    return split_heads(lift_matrix<Enclosure>(weight), n.q_heads);
  };
  const MultiHead<Enclosure> record{list(packed.state.query_weight), list(packed.state.key_weight),
                                    list(packed.state.value_weight),
                                    lift_matrix<Enclosure>(packed.state.output_weight)};
  const std::vector<LayerRow<Enclosure>> rows = layer<Enclosure>(packed);
  const std::size_t queries = packed.query.shape(1);
  for (std::size_t b = 0; b < packed.query.shape(0); ++b) {
    const Matrix<Enclosure> output =
        multi_head_attention(record, lift_entry<Enclosure>(packed.query, b), lift_entry<Enclosure>(packed.key, b),
                             lift_entry<Enclosure>(packed.value, b));
    for (std::size_t i = 0; i < queries; ++i) {
      const Vector<Enclosure> due = tabulate(n.output_width, [&](std::size_t c) { return output(i, c); });
      RC_ASSERT(meet(rows[b * queries + i].output, due));
      RC_ASSERT(is_narrow(due) && is_narrow(rows[b * queries + i].output));
    }
  }
}

PROPERTY(MHA_P6, appending_to_a_cache_is_projecting_the_whole) {
  const std::size_t in = *between<std::size_t>(1, 4), out = *between<std::size_t>(1, 4);
  const Matrix<double> past = *matrices(*between<std::size_t>(0, 4), in);
  const Matrix<double> now = *matrices(*between<std::size_t>(0, 4), in);
  const Matrix<double> weight = *matrices(in, out);
  const std::optional<Vector<double>> bias = *vectors(out);
  RC_CLASSIFY(past.shape(0) == 0, "an empty cache");
  RC_ASSERT(same_bits(append_rows(affine(past, weight, bias), affine(now, weight, bias)),
                      affine(append_rows(past, now), weight, bias)));
}

Matrix<double> identity(std::size_t n) {
  return tabulate(n, n, [](std::size_t i, std::size_t j) { return i == j ? 1.0 : 0.0; });
}

/// (B, 1, S, E) -> (B, S, E)
Tensor<double> without_head_axis(Tensor<double> t) {
  t.reshape(Shape{t.shape(0), t.shape(2), t.shape(3)});
  return t;
}

PROPERTY(MHA_P7, identity_projections_leave_the_attention_inside) {
  const Problem call = *calls({.dropout = false, .alibi = false, .descale = false, .degenerate = false});
  const Extents n = extents(call.inputs);
  RC_PRE(n.q_heads == 1);
  LayerProblem wrapped;
  wrapped.call = call.call;
  wrapped.masks = call.inputs;
  wrapped.query = without_head_axis(call.inputs.q);
  wrapped.key = without_head_axis(call.inputs.k);
  wrapped.value = without_head_axis(call.inputs.v);
  wrapped.config = {.head_width = n.width, .value_width = n.value_width, .query_input = n.width, .key_input = n.width};
  wrapped.config.value_input = wrapped.config.output_width = n.value_width;
  wrapped.state.query_weight = wrapped.state.key_weight = identity(n.width);
  wrapped.state.value_weight = wrapped.state.output_weight = identity(n.value_width);
  const Attended<double> inside = attention<double>(call);
  const std::vector<LayerRow<double>> rows = layer<double>(wrapped);
  RC_ASSERT(rows.size() == inside.rows.size());
  for (std::size_t r = 0; r < rows.size(); ++r) RC_ASSERT(same_numbers(rows[r].output, inside.rows[r].output));
}

PROPERTY(MHA_P8, zero_attention_is_a_sink_of_zero) {
  LayerProblem sink =
      *layers({.dropout = false, .inside = {.sink = false, .alibi = false, .descale = false, .degenerate = false}});
  classify(sink);
  sink.zero_attention = false;
  LayerProblem zero = sink;
  zero.zero_attention = true;
  sink.masks.sink = tabulate(sink.config.q_heads, [](std::size_t) { return 0.0; });
  const PrecisionScope scope(property_bits);
  const std::vector<LayerRow<Enclosure>> x = layer<Enclosure>(zero);
  const std::vector<LayerRow<Enclosure>> y = layer<Enclosure>(sink);
  for (std::size_t r = 0; r < x.size(); ++r) {
    RC_ASSERT(meet(x[r].output, y[r].output));
    RC_ASSERT(is_narrow(x[r].output) && is_narrow(y[r].output));
  }
}

PROPERTY(MHA_P9, averaged_weights_of_a_row_sum_to_one) {
  const LayerProblem problem =
      *layers({.dropout = false, .inside = {.sink = false, .alibi = false, .descale = false, .degenerate = false}});
  classify(problem);
  const PrecisionScope scope(property_bits);
  const std::size_t keys = problem.key.shape(1) + added_keys(problem);
  for (const LayerRow<Enclosure>& row : layer<Enclosure>(problem)) {
    std::vector<Vector<Enclosure>> dense;
    bool empty = false;
    for (const AttendedRow<Enclosure>& head : row.heads) {
      dense.push_back(scatter(head.weights, head.keys, keys));
      empty |= head.keys.empty();
    }
    RC_CLASSIFY(empty, "an empty row");
    if (empty) continue;
    const Vector<Enclosure> mean = mean_weights(dense);
    const Enclosure sum = sum_over<Enclosure>(keys, [&](std::size_t j) { return mean(j); });
    RC_ASSERT(contains(sum, 1.0) && is_narrow(sum));
  }
}

template <class T>
void bias_is_added(const LayerProblem& without, const LayerProblem& with) {
  const std::vector<LayerRow<T>> x = layer<T>(without);
  const std::vector<LayerRow<T>> y = layer<T>(with);
  const Vector<T> bias = *lift_slot<T>(with.state.output_bias);
  for (std::size_t r = 0; r < x.size(); ++r) {
    const Vector<T> due = tabulate(bias.size(), [&](std::size_t c) -> T { return x[r].output(c) + bias(c); });
    RC_ASSERT(attest::same_bits(y[r].output, due));
  }
}

PROPERTY(MHA_P10, output_bias_is_added_once_after_merging) {
  LayerProblem without = *layers();
  classify(without);
  without.config.output_bias = false;
  without.state.output_bias = std::nullopt;
  LayerProblem with = without;
  with.config.output_bias = true;
  with.state.output_bias = *vectors(with.config.output_width);
  bias_is_added<double>(without, with);
  bias_is_added<RoundedBF16>(without, with);
}

}  // namespace
}  // namespace attest
