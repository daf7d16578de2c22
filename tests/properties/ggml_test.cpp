/// Chapter 20: slopes and masks of ggml beside those of this specification.

#include "attest/conventions/ggml.hpp"

#include <ostream>
#include <xtensor/xio.hpp>

#include "attest/conventions/systems.hpp"
#include "attest/definitions/attention.hpp"
#include "support/property.hpp"

namespace attest {
namespace {

/// That of every known model, none, and others that leave a rest; adding 8 rounds none of them.
rc::Gen<float> max_biases() { return rc::gen::element(8.0F, 0.0F, 1.0F, 4.0F, 16.0F, 0.09375F, 5.5F, 100.0F); }

/// 1 to n heads, one draw in two a power of two.
rc::Gen<std::size_t> head_counts(std::size_t n) {
  return rc::gen::oneOf(
      between<std::size_t>(1, n + 1),
      rc::gen::map(between<std::size_t>(1, n + 1), [](std::size_t any) { return std::bit_floor(any); }));
}

void classify(std::size_t heads) { RC_CLASSIFY(std::has_single_bit(heads), "a power of two"); }

PROPERTY(CNV_P3, slopes_for_a_max_bias_of_8_are_alibi_slopes) {
  const std::size_t heads = *head_counts(200);
  const float max_bias = *max_biases();
  classify(heads);
  with_precision(property_bits, [&] {
    for (std::size_t h = 0; h < heads; ++h) {
      const Enclosure alibi = alibi_slope<Enclosure>(h, heads);
      RC_ASSERT(is_narrow(ggml_slope<Enclosure>(h, heads, 8)));
      RC_ASSERT(meet(ggml_slope<Enclosure>(h, heads, 8), alibi));
      RC_ASSERT(ggml_slope<Enclosure>(h, heads, 0) == 1);
      const Enclosure less = ggml_slope<Enclosure>(h, heads, max_bias);
      RC_ASSERT(meet(ggml_slope<Enclosure>(h, heads, max_bias + 8), Enclosure(less * alibi)));
    }
  });
}

/// In ggml's own words: a first slope, m0 or m1, and its powers.
PROPERTY(CNV_P4, slopes_of_ggml_are_two_geometric_sequences) {
  const std::size_t heads = *head_counts(70);
  const float max_bias = *max_biases();
  classify(heads);
  with_precision(property_bits, [&] {
    const int power = static_cast<int>(std::bit_floor(heads));
    const auto two_to_minus = [](const Enclosure& x) { return Enclosure(exp(Enclosure(-x * log(Enclosure(2))))); };
    const Enclosure first = two_to_minus(Enclosure(max_bias) / power);
    const Enclosure second = two_to_minus(Enclosure(max_bias) / 2 / power);
    Enclosure due = 1;
    for (std::size_t h = 0; h < heads; ++h) {
      if (h < std::bit_floor(heads)) {
        due = due * first;
      } else {
        due = h == std::bit_floor(heads) ? second : Enclosure(due * second * second);
      }
      RC_ASSERT(is_narrow(due));
      RC_ASSERT(meet(ggml_slope<Enclosure>(h, heads, max_bias), due));
    }
  });
}

/// Keys at positions 0, 1, ..., queries at i + offset, and which pairs are visible: all, those of the causal rule, or
/// any; and a mask that says so, with padding in which anything may stand.
struct Distances {
  std::size_t heads, queries, keys;
  std::int64_t offset;
  bool causal;
  Matrix<bool> visible;
  Tensor<double> mask;

  std::int64_t position(std::size_t i) const { return static_cast<std::int64_t>(i) + offset; }
  Shape shape() const { return {1, heads, queries, keys}; }
};

std::ostream& operator<<(std::ostream& out, const Distances& d) {
  return out << d.heads << " heads, offset " << d.offset << "\n" << d.visible << "\n" << d.mask;
}

rc::Gen<Distances> distances(rc::Gen<std::size_t> heads) {
  return rc::gen::exec([heads] {
    Distances d{*heads, *between<std::size_t>(1, 5), *between<std::size_t>(1, 7), 0, false, {}, {}};
    d.offset = *rc::gen::element<std::int64_t>(0, 0, 1, 3, 2000);
    d.causal = *rc::gen::arbitrary<bool>();
    const auto drawn = *rc::gen::container<std::vector<std::vector<bool>>>(d.queries, visible_rows(d.keys));
    d.visible = tabulate(d.queries, d.keys, [&](std::size_t i, std::size_t j) -> bool {
      return d.causal ? static_cast<std::int64_t>(j) <= d.position(i) : drawn[i][j];
    });
    const std::size_t more = *rc::gen::element<std::size_t>(0, 3);
    d.mask = Tensor<double>(Shape{1, 1, d.queries + more, d.keys + more},
                            *rc::gen::element(std::nan(""), -std::numeric_limits<double>::infinity(), 7.0));
    for (std::size_t i = 0; i < d.queries; ++i) {
      for (std::size_t j = 0; j < d.keys; ++j) {
        const std::int64_t distance = std::abs(d.position(i) - static_cast<std::int64_t>(j));
        d.mask(0, 0, i, j) =
            d.visible(i, j) ? static_cast<double>(-distance) : -std::numeric_limits<double>::infinity();
      }
    }
    return d;
  });
}

/// Both ends of a narrow enclosure round to it.
bool is_nearest(double x, const Enclosure& real) {
  return round_to(Format::f64, lower_end(real)) == x && round_to(Format::f64, upper_end(real)) == x;
}

PROPERTY(CNV_P5, bias_of_distances_is_alibi) {
  const Distances any = *distances(head_counts(20));
  const Tensor<double> bias = ggml_bias(any.mask, any.shape(), 8);
  classify(any.heads);
  RC_CLASSIFY(any.causal, "causal");
  RC_CLASSIFY(any.mask.shape(3) > any.keys, "padded");
  with_precision(2 * property_bits, [&] {
    for (std::size_t h = 0; h < any.heads; ++h) {
      const Enclosure slope = alibi_slope<Enclosure>(h, any.heads);
      for (std::size_t i = 0; i < any.queries; ++i) {
        for (std::size_t j = 0; j < any.keys; ++j) {
          const Enclosure due = alibi(slope, any.position(i), static_cast<std::int64_t>(j), AlibiForm::distance);
          const double x = bias(0, h, i, j);
          const bool is_due = any.visible(i, j) ? is_nearest(x, due) : std::isinf(x) && x < 0;
          RC_ASSERT(is_due);
        }
      }
    }
  });

  // with slopes that are exact, whole calls are the same
  const Distances d = *distances(rc::gen::element<std::size_t>(1, 2, 4, 8));
  Problem by_mask{ggml_call({.scale = 0.5F, .max_bias = 8}), {}};
  by_mask.inputs.q = *tensors({1, d.heads, d.queries, 2}, -1);
  by_mask.inputs.k = *tensors({1, 1, d.keys, 2}, -1);
  by_mask.inputs.v = *tensors({1, 1, d.keys, 2}, -1);
  Problem by_slopes = by_mask;
  by_mask.inputs.bias = ggml_bias(d.mask, d.shape(), 8);
  by_slopes.call.alignment = Alignment::offsets;
  by_slopes.inputs.offsets = Vector<std::int64_t>{d.offset};
  by_slopes.inputs.alibi_slopes =
      tabulate(1, d.heads, [&](std::size_t, std::size_t h) { return alibi_slope<double>(h, d.heads); });
  by_slopes.inputs.visible = Tensor<bool>::from_shape({1, 1, d.queries, d.keys});
  std::copy(d.visible.begin(), d.visible.end(), by_slopes.inputs.visible->begin());
  same_rows<double>(by_mask, by_slopes);
  same_rows<float>(by_mask, by_slopes);
  same_rows<RoundedBF16>(by_mask, by_slopes);
}

}  // namespace
}  // namespace attest
