#pragma once
/// Chapter 07 (OPT): the state of a configured attention layer: which slots it has, of which shapes, in which order.

#include <optional>

#include "attest/tensor/tensor.hpp"

namespace attest {

/// What determines the state list of a layer. Weights multiply from the right: a projection is x W + b.
struct LayerConfig {
  std::size_t q_heads = 1;
  std::size_t k_heads = 1;
  std::size_t v_heads = 1;
  std::size_t head_width = 1;    ///< D, of a query and a key
  std::size_t value_width = 1;   ///< Dv, of a value
  std::size_t query_input = 1;   ///< Eq, the width of what becomes queries
  std::size_t key_input = 1;     ///< Ek
  std::size_t value_input = 1;   ///< Ev
  std::size_t output_width = 1;  ///< Eo
  bool input_bias = false;
  bool output_bias = false;
  bool dropout = false;
};

/// The state of a layer, in the order of its list. An absent slot is `nullopt`: nothing stands in for it.
template <class T>
struct LayerState {
  Matrix<T> query_weight;                ///< (Eq, Hq D)
  Matrix<T> key_weight;                  ///< (Ek, Hk D)
  Matrix<T> value_weight;                ///< (Ev, Hv Dv)
  Matrix<T> output_weight;               ///< (Hq Dv, Eo)
  std::optional<Vector<T>> query_bias;   ///< (Hq D)
  std::optional<Vector<T>> key_bias;     ///< (Hk D)
  std::optional<Vector<T>> value_bias;   ///< (Hv Dv)
  std::optional<Vector<T>> output_bias;  ///< (Eo)
  std::optional<T> probability;          ///< of dropout; not trainable
};

}  // namespace attest
