/// Chapter 15: the streamed form equals the row.

#include "attest/online/streamed_layer.hpp"
#include "support/layers.hpp"
#include "support/property.hpp"
#include "support/rows.hpp"

namespace attest {
namespace {

struct Keys {
  std::vector<double> logits;
  Matrix<double> values;
};

std::ostream& operator<<(std::ostream& out, const Keys& keys) {
  for (const double s : keys.logits) out << s << " ";
  out << "| values";
  for (const double v : keys.values) out << " " << v;
  return out;
}

/// Up to six keys with values of width 2, often none.
rc::Gen<Keys> some_keys() {
  return rc::gen::exec([] {
    const std::size_t m = *rc::gen::element<std::size_t>(0, 1, 2, 3, 6);
    const Tensor<double> values = *tensors({m, 2}, -3);
    return Keys{*rows(m), tabulate(m, 2, [&](std::size_t j, std::size_t c) { return values(j, c); })};
  });
}

template <Scalar T>
Matrix<T> values_in(const Keys& keys) {
  return tabulate(keys.values.shape(0), keys.values.shape(1),
                  [&](std::size_t j, std::size_t c) { return lift<T>(keys.values(j, c)); });
}

template <Scalar T>
Block<T> block(const Keys& keys) {
  return block_of(row_of(lifted<T>(keys.logits)), values_in<T>(keys));
}

/// Triples with different shifts can stand for the same block, so blocks are compared by what they finish to.
void same_block(const Block<Enclosure>& a, const Block<Enclosure>& b) {
  const Finished<Enclosure> x = finish(a);
  const Finished<Enclosure> y = finish(b);
  RC_ASSERT(meet(x.output, y.output));
  RC_ASSERT(meet(x.lse, y.lse));
  RC_ASSERT(is_narrow(x.output) && is_narrow(y.output));
}

template <class T>
bool same_triple(const Block<T>& a, const Block<T>& b) {
  return same_bits(a.shift, b.shift) && same_bits(a.sum, b.sum) && same_bits(a.weighted, b.weighted);
}

PROPERTY(ONL_P1, merge_is_associative) {
  const Keys a = *some_keys();
  const Keys b = *some_keys();
  const Keys c = *some_keys();
  RC_CLASSIFY(a.logits.empty() || b.logits.empty() || c.logits.empty(), "an empty block");
  with_precision(property_bits + 64, [&] {
    const auto x = block<Enclosure>(a), y = block<Enclosure>(b), z = block<Enclosure>(c);
    same_block(merge(merge(x, y), z), merge(x, merge(y, z)));
  });
}

PROPERTY(ONL_P2, merge_is_commutative) {
  const Keys a = *some_keys();
  const Keys b = *some_keys();
  with_precision(property_bits + 64, [&] {
    const auto x = block<Enclosure>(a), y = block<Enclosure>(b);
    same_block(merge(x, y), merge(y, x));
  });
}

PROPERTY(ONL_P3, the_empty_block_is_the_identity) {
  const Keys keys = *some_keys();
  RC_CLASSIFY(keys.logits.empty(), "empty with empty");
  const Block<double> x = block<double>(keys);
  const Block<double> empty = empty_block<double>(2);
  RC_ASSERT(same_triple(merge(x, empty), x));
  RC_ASSERT(same_triple(merge(empty, x), x));
}

/// A random partition of m keys into consecutive blocks, some of them empty.
std::vector<std::size_t> partition(std::size_t m) {
  std::vector<std::size_t> sizes{0};
  for (std::size_t j = 0; j < m; ++j) {
    for (int cuts = *between(0, 3); cuts > 0; --cuts) sizes.push_back(0);
    ++sizes.back();
  }
  return sizes;
}

PROPERTY(ONL_P4, any_partition_gives_the_whole_row) {
  const Keys keys = *some_keys();
  const std::vector<std::size_t> sizes = partition(keys.logits.size());
  RC_CLASSIFY(sizes.size() > 1, "several blocks");
  with_precision(property_bits + 64, [&] {
    const Vector<Enclosure> logits = lifted<Enclosure>(keys.logits);
    const Finished<Enclosure> streamed = finish(stream(row_of(logits), values_in<Enclosure>(keys), sizes));
    RC_ASSERT(meet(streamed.lse, log_sum_exp(row_of(logits))));
    const Vector<Enclosure> weights = softmax(row_of(logits));
    for (std::size_t c = 0; c < streamed.output.size(); ++c) {
      const Enclosure mean =
          sum_over<Enclosure>(logits.size(), [&](std::size_t j) { return weights(j) * Enclosure(keys.values(j, c)); });
      RC_ASSERT(meet(streamed.output(c), mean));
    }
  });
}

PROPERTY(ONL_P5, streamed_layer_equals_the_layer) {
  const LayerProblem problem = *layers({.biases = false, .dropout = false});
  const std::size_t size = *between<std::size_t>(1, 4);
  for (const std::string& name : classes_of(problem)) RC_TAG(name);
  RC_CLASSIFY(problem.masks.sink.has_value(), "sink");
  RC_CLASSIFY(size < problem.key.shape(1), "several blocks");
  const PrecisionScope scope(property_bits);
  const std::vector<LayerRow<Enclosure>> whole = layer<Enclosure>(problem);
  const std::vector<Vector<Enclosure>> streamed = streamed_layer<Enclosure>(problem, size);
  RC_ASSERT(whole.size() == streamed.size());
  for (std::size_t r = 0; r < whole.size(); ++r) {
    RC_ASSERT(meet(whole[r].output, streamed[r]));
    RC_ASSERT(is_narrow(whole[r].output) && is_narrow(streamed[r]));
  }
}

}  // namespace
}  // namespace attest
