#include "attest/conventions/onnx_nodes.hpp"

#include <algorithm>
#include <cmath>
#include <xtensor/xbroadcast.hpp>

#include "attest/conventions/onnx.hpp"

namespace attest {

namespace {

constexpr float default_epsilon = 1e-5F;

Shape shape_of(const Tensor<double>& tensor) { return Shape(tensor.shape().begin(), tensor.shape().end()); }

/// The axis counted from the front. Counting from the back came with version 11 of Softmax.
std::size_t axis_from(std::int64_t axis, std::size_t rank, bool from_the_back) {
  const auto axes = static_cast<std::int64_t>(rank);
  require(axis < axes && axis >= (from_the_back ? -axes : 0), "CAS.C13", "axis: {} to {} for {} axes, got {}",
          from_the_back ? -axes : 0, axes - 1, axes, axis);
  return static_cast<std::size_t>(axis < 0 ? axis + axes : axis);
}

std::int64_t softmax_axis(const OnnxSoftmax& node) { return node.axis.value_or(node.version < 13 ? 1 : -1); }

Format stash_type(const OnnxRmsNormalization& node) {
  const std::optional<Format> type = onnx_floating_type(node.stash_type.value_or(1));
  require(type.has_value(), "CAS.C13", "stash_type: 1, 10, 11 or 16, got {}", *node.stash_type);
  return *type;
}

/// The numpy rule, in one direction: axes aligned at the right, an extent of 1 serving for any.
Tensor<double> broadcast_to(const Tensor<double>& tensor, const Shape& shape, std::string_view name) {
  bool fits = tensor.dimension() <= shape.size();
  for (std::size_t n = 1; fits && n <= tensor.dimension(); ++n) {
    const std::size_t extent = tensor.shape(tensor.dimension() - n);
    fits = extent == 1 || extent == shape[shape.size() - n];
  }
  require(fits, "CAS.C14", "{}: broadcasts to the shape {} of X, got {}", name, to_string(shape),
          to_string(shape_of(tensor)));
  return xt::broadcast(tensor, shape);
}

/// The axes of a rotary embedding's operand.
struct RotaryAxes {
  std::size_t batch, heads, sequence, width;
  bool heads_first;  ///< (B, N, S, H) rather than (B, S, N*H)
};

std::size_t heads_from(const OnnxRotaryEmbedding& node, std::size_t channels) {
  require(node.num_heads.has_value(), "CAS.C13", "num_heads: required for an input of three axes");
  const std::int64_t heads = *node.num_heads;
  require(heads >= 1 && channels % static_cast<std::size_t>(heads) == 0, "CAS.C13",
          "num_heads: at least 1, and divides the {} channels of X, got {}", channels, heads);
  return static_cast<std::size_t>(heads);
}

RotaryAxes axes_of(const OnnxRotaryEmbedding& node, const Tensor<double>& x) {
  require(x.dimension() == 3 || x.dimension() == 4, "CAS.C14", "X: three or four axes, got {}", x.dimension());
  RotaryAxes n{};
  if (x.dimension() == 3) {
    const std::size_t heads = heads_from(node, x.shape(2));
    n = {x.shape(0), heads, x.shape(1), x.shape(2) / heads, false};
  } else {
    n = {x.shape(0), x.shape(1), x.shape(2), x.shape(3), true};
    const std::int64_t heads = node.num_heads.value_or(static_cast<std::int64_t>(n.heads));
    require(heads == static_cast<std::int64_t>(n.heads), "CAS.C13", "num_heads: the {} heads of X, got {}", n.heads,
            heads);
  }
  require(n.width % 2 == 0, "CAS.C14", "X: heads of an even width, got {}", n.width);
  return n;
}

/// r, the number of rotated channels; 0 stands for all.
std::size_t rotated_from(const OnnxRotaryEmbedding& node, std::size_t width) {
  const std::int64_t rotated = node.rotary_embedding_dim.value_or(0);
  require(rotated >= 0 && rotated <= static_cast<std::int64_t>(width) && rotated % 2 == 0, "CAS.C13",
          "rotary_embedding_dim: an even number from 0 to the width {} of a head, got {}", width, rotated);
  return rotated == 0 ? width : static_cast<std::size_t>(rotated);
}

Pairing pairing_from(const OnnxRotaryEmbedding& node) {
  const std::int64_t interleaved = node.interleaved.value_or(0);
  require(interleaved == 0 || interleaved == 1, "CAS.C13", "interleaved: 0 or 1, got {}", interleaved);
  return interleaved == 1 ? Pairing::interleaved : Pairing::halves;
}

/// A cache as a matrix with a row for each place.
Matrix<double> cache_from(const Tensor<double>& cache, const Shape& expected, std::string_view name) {
  require(shape_of(cache) == expected, "CAS.C14", "{}: shape {}, got {}", name, to_string(expected),
          to_string(shape_of(cache)));
  const std::size_t pairs = expected.back();
  const std::size_t places = element_count(Shape(expected.begin(), expected.end() - 1));
  Matrix<double> rows = Matrix<double>::from_shape({places, pairs});
  std::copy(cache.begin(), cache.end(), rows.begin());
  return rows;
}

/// The shape of the caches: a row for every position there is, or one for every token.
Shape cache_shape(const OnnxRotaryInputs& in, const RotaryAxes& n, std::size_t pairs) {
  if (!in.position_ids) return {n.batch, n.sequence, pairs};
  require(in.cos_cache.dimension() == 2, "CAS.C14", "cos_cache: two axes with position_ids, got {}",
          in.cos_cache.dimension());
  return {in.cos_cache.shape(0), pairs};
}

void check_positions(const Tensor<double>& ids, const RotaryAxes& n, std::size_t places) {
  const Shape expected{n.batch, n.sequence};
  require(shape_of(ids) == expected, "CAS.C14", "position_ids: shape {}, got {}", to_string(expected),
          to_string(shape_of(ids)));
  for (const double id : ids) {
    require(id >= 0 && id < static_cast<double>(places), "CAS.C14",
            "position_ids: at least 0 and below the {} rows of the caches, got {}", places, id);
  }
}

/// Which row of the caches belongs to a row of the operand.
std::vector<std::size_t> places_of(const OnnxRotaryInputs& in, const RotaryAxes& n) {
  std::vector<std::size_t> places(n.width == 0 ? 0 : in.x.size() / n.width);
  for (std::size_t row = 0; row < places.size(); ++row) {
    const std::size_t b = row / (n.heads * n.sequence);
    const std::size_t s = n.heads_first ? row % n.sequence : row / n.heads % n.sequence;
    places[row] = in.position_ids ? static_cast<std::size_t>((*in.position_ids)(b, s)) : b * n.sequence + s;
  }
  return places;
}

std::vector<Setting> record(std::string_view op, int version, Format type, std::vector<Setting> attributes,
                            const std::string& also = "") {
  std::vector<Setting> settings{
      {"convention", "onnx"}, {"operator", std::string(op)}, {"version", std::to_string(version)}};
  std::ranges::move(attributes, std::back_inserter(settings));
  settings.push_back({"arithmetic", fmt::format("onnx: computed in T={}{}", onnx_name_of(type), also)});
  return settings;
}

}  // namespace

RowOperation onnx_softmax(const OnnxSoftmax& node, const Tensor<double>& x) {
  const std::size_t rank = x.dimension();
  const std::size_t axis = axis_from(softmax_axis(node), rank, node.version >= 11);
  return {x, row_form(shape_of(x), axis, node.version < 13 ? rank : axis + 1), SoftmaxRows{}};
}

RowOperation onnx_rms_normalization(const OnnxRmsNormalization& node, const Tensor<double>& x,
                                    const Tensor<double>& scale) {
  const std::size_t rank = x.dimension();
  const std::size_t axis = axis_from(node.axis.value_or(-1), rank, true);
  const float epsilon = node.epsilon.value_or(default_epsilon);
  require(std::isfinite(epsilon) && epsilon >= 0, "CAS.C13", "epsilon: a finite number >= 0, got {}", epsilon);
  stash_type(node);
  return {x, row_form(shape_of(x), axis, rank), RmsNormRows{broadcast_to(scale, shape_of(x), "scale"), epsilon}};
}

RowOperation onnx_rotary_embedding(const OnnxRotaryEmbedding& node, const OnnxRotaryInputs& in) {
  const RotaryAxes n = axes_of(node, in.x);
  const Shape expected = cache_shape(in, n, rotated_from(node, n.width) / 2);
  RotaryRows rotary{cache_from(in.cos_cache, expected, "cos_cache"),
                    cache_from(in.sin_cache, expected, "sin_cache"),
                    {},
                    pairing_from(node)};
  if (in.position_ids) check_positions(*in.position_ids, n, rotary.cosines.shape(0));
  rotary.places = places_of(in, n);
  return {in.x, RowForm{n.width, 1}, std::move(rotary)};
}

std::vector<Setting> describe(const OnnxSoftmax& node, Format type) {
  return record("Softmax", node.version, type, {{"axis", std::to_string(softmax_axis(node))}});
}

std::vector<Setting> describe(const OnnxRmsNormalization& node, Format type) {
  const std::vector<Setting> attributes{{"axis", std::to_string(node.axis.value_or(-1))},
                                        {"epsilon", fmt::format("{}", double(node.epsilon.value_or(default_epsilon)))}};
  return record("RMSNormalization", 23, type, attributes,
                fmt::format(", stash_type={}", onnx_name_of(stash_type(node))));
}

std::vector<Setting> describe(const OnnxRotaryEmbedding& node, Format type) {
  const std::string heads = node.num_heads ? std::to_string(*node.num_heads) : "none";
  return record("RotaryEmbedding", 23, type,
                {{"interleaved", std::to_string(node.interleaved.value_or(0))},
                 {"num_heads", heads},
                 {"rotary_embedding_dim", std::to_string(node.rotary_embedding_dim.value_or(0))}});
}

}  // namespace attest
