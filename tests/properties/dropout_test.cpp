/// Chapter 08: kept masks from seeds, and what they do to weights.

#include "attest/certify/rounding.hpp"
#include "support/property.hpp"
#include "support/states.hpp"

namespace attest {
namespace {

constexpr double probabilities[] = {0.0, 0x1p-40, 0.1, 0.25, 0.5, 0.9, 1 - 0x1p-33, 1.0};

rc::Gen<double> any_probability() {
  return rc::gen::elementOf(std::vector<double>(std::begin(probabilities), std::end(probabilities)));
}

rc::Gen<Shape> weight_shapes() {
  return rc::gen::elementOf(std::vector<Shape>{{}, {0}, {5}, {2, 3}, {1, 2, 3, 4}, {2, 2, 0, 3}});
}

Tensor<bool> some_mask(const Shape& shape) {
  Tensor<bool> mask = Tensor<bool>::from_shape(shape);
  for (bool& kept : mask) kept = *rc::gen::arbitrary<bool>();
  return mask;
}

template <class T>
void keeps_all_bits(const Tensor<double>& weights, const Tensor<bool>& kept, double p, bool training) {
  const Tensor<T> given = lifted<T>(weights);
  RC_ASSERT(same_bits(dropout(given, kept, p, training), given));
}

PROPERTY(DRP_P1, dropout_with_probability_zero_is_the_identity) {
  const Tensor<double> weights = *tensors(*weight_shapes(), -3);
  const Tensor<bool> kept = kept_mask(*seeds(), 0, Shape(weights.shape().begin(), weights.shape().end()));
  const bool training = *rc::gen::arbitrary<bool>();
  RC_CLASSIFY(weights.dimension() == 0, "a scalar");
  RC_CLASSIFY(weights.size() == 0, "no entries");
  keeps_all_bits<double>(weights, kept, 0, training);
  keeps_all_bits<float>(weights, kept, 0, training);
  keeps_all_bits<RoundedBF16>(weights, kept, 0, training);
}

PROPERTY(DRP_P2, dropout_outside_training_is_the_identity) {
  const Tensor<double> weights = *tensors(*weight_shapes(), -3);
  const Tensor<bool> kept = some_mask(Shape(weights.shape().begin(), weights.shape().end()));
  const double p = *any_probability();
  RC_CLASSIFY(p == 1, "probability 1");
  keeps_all_bits<double>(weights, kept, p, false);
  keeps_all_bits<float>(weights, kept, p, false);
  keeps_all_bits<RoundedBF16>(weights, kept, p, false);
}

PROPERTY(DRP_P3, an_entry_depends_on_seed_and_index_only) {
  const std::uint64_t seed = *seeds();
  const double p = *any_probability();
  const std::size_t rows = *between<std::size_t>(1, 4), columns = *between<std::size_t>(1, 8);
  const Tensor<bool> small = kept_mask(seed, p, {rows, columns});
  const Tensor<bool> large = kept_mask(seed, p, {rows + *between<std::size_t>(0, 3), columns, 2});
  RC_ASSERT(std::equal(small.begin(), small.end(), large.begin()));
  const std::size_t n = *between<std::size_t>(0, small.size());
  RC_ASSERT(small.data()[n] == is_kept(random_word(seed, n), p));
}

PROPERTY(DRP_P4, kept_share_is_close_to_its_probability) {
  const double p = *any_probability();
  const Tensor<bool> kept = kept_mask(*seeds(), p, {64, 64});
  const Enclosure count(static_cast<double>(kept.size()));
  const Enclosure share = Enclosure(static_cast<double>(std::ranges::count(kept, true))) / count;
  const Enclosure log_of_failure = 41 * log(Enclosure(2));  // ln(2 / 2^-40)
  const Enclosure bound = sqrt(Enclosure(log_of_failure / (2 * count))) + lift<Enclosure>(0x1p-32);
  RC_ASSERT(lower_end(absolute(Enclosure(share - (1 - lift<Enclosure>(p))))) <= upper_end(bound));
}

PROPERTY(DRP_P5, probability_one_keeps_nothing_and_zero_keeps_everything) {
  const Shape shape = *weight_shapes();
  const std::uint64_t seed = *seeds();
  RC_ASSERT(std::ranges::count(kept_mask(seed, 1, shape), true) == 0);
  RC_ASSERT(std::ranges::count(kept_mask(seed, 0, shape), false) == 0);
  for (const std::uint32_t word : {0u, 1u, 0x7fffffffu, ~0u, *rc::gen::arbitrary<std::uint32_t>()}) {
    RC_ASSERT(is_kept(word, 0) && !is_kept(word, 1));
    RC_ASSERT(is_kept(word, std::ldexp(word, -32)) && !is_kept(word, std::nextafter(std::ldexp(word, -32), 1)));
  }
  const Tensor<double> weights = *tensors(shape, -3);
  for (const double w : dropout(weights, some_mask(shape), 1, true)) RC_ASSERT(w == 0);
}

}  // namespace
}  // namespace attest
