#pragma once
/// Random configurations of layers, and states that fit them.

#include <ostream>

#include "attest/definitions/layer_constructors.hpp"
#include "support/compare.hpp"
#include "support/generators.hpp"

namespace attest {

inline std::ostream& operator<<(std::ostream& out, const StateSlot& slot) {
  return out << slot.name << to_string(slot.shape);
}

/// One to four query heads with shared keys and values or not, small widths, every combination of options.
inline rc::Gen<LayerConfig> configs() {
  return rc::gen::exec([] {
    const auto heads =
        *rc::gen::elementOf(std::vector<std::pair<std::size_t, std::size_t>>{{1, 1}, {2, 1}, {2, 2}, {4, 2}, {3, 3}});
    const auto width = [] { return *between<std::size_t>(1, 4); };
    LayerConfig n;
    n.q_heads = heads.first;
    n.k_heads = heads.second;
    n.v_heads = *rc::gen::element<std::size_t>(1, heads.second, heads.first);
    for (std::size_t* w :
         {&n.head_width, &n.value_width, &n.query_input, &n.key_input, &n.value_input, &n.output_width}) {
      *w = width();
    }
    std::tie(n.input_bias, n.output_bias, n.dropout) = *rc::gen::arbitrary<std::tuple<bool, bool, bool>>();
    return n;
  });
}

/// The numbers of a tensor in the arithmetic T.
template <class T>
Tensor<T> lifted(const Tensor<double>& tensor) {
  Tensor<T> result = Tensor<T>::from_shape(tensor.shape());
  std::transform(tensor.begin(), tensor.end(), result.begin(), [](double x) { return lift<T>(x); });
  return result;
}

/// A list of small numbers that fits the slots.
template <class T>
StateList<T> lists(const std::vector<StateSlot>& slots) {
  StateList<T> list;
  for (const StateSlot& slot : slots) list.push_back(lifted<T>(*tensors(slot.shape, -3)));
  return list;
}

inline rc::Gen<std::uint64_t> seeds() {
  return rc::gen::oneOf(rc::gen::element<std::uint64_t>(0, 1, ~std::uint64_t(0), std::uint64_t(1) << 32),
                        rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint64_t>()));
}

template <class T>
bool same_bits(const Tensor<T>& a, const Tensor<T>& b) {
  return a.shape() == b.shape() &&
         std::equal(a.begin(), a.end(), b.begin(), [](const T& x, const T& y) { return same_bits(x, y); });
}

template <class T>
bool same_bits(const StateList<T>& a, const StateList<T>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](const Tensor<T>& x, const Tensor<T>& y) { return same_bits(x, y); });
}

}  // namespace attest
