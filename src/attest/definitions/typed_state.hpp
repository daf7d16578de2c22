#pragma once
/// Chapter 07 (OPT): the state list with its shapes in the types. A list of other shapes does not compile. This twin
/// carries dimensions and forwards; it holds no arithmetic.

#include <tuple>
#include <xtensor/xfixed.hpp>

#include "attest/definitions/layer_state.hpp"

namespace attest {

/// The shape of a slot as a type.
template <std::size_t... Extents>
struct FixedShape {
  static Shape shape() { return {Extents...}; }
};

/// A list of shapes as a type.
template <class... Shapes>
struct ShapeList {
  static std::vector<Shape> shapes() { return {Shapes::shape()...}; }
};

/// A tensor of a shape that is a type.
template <class T, class S>
struct FixedTensor;
template <class T, std::size_t... Extents>
struct FixedTensor<T, FixedShape<Extents...>> {
  using type = xt::xtensor_fixed<T, xt::xshape<Extents...>>;
};
template <class T, class S>
using SlotOf = typename FixedTensor<T, S>::type;

/// One list after the other, of shapes.
template <class... Lists>
struct Appended;
template <class... First, class... Second, class... Lists>
struct Appended<ShapeList<First...>, ShapeList<Second...>, Lists...> {
  using type = typename Appended<ShapeList<First..., Second...>, Lists...>::type;
};
template <class List>
struct Appended<List> {
  using type = List;
};

/// OPT.D1  optional_shapes at the level of types.
template <bool Enabled, class S>
using OptionalSlots = std::conditional_t<Enabled, ShapeList<S>, ShapeList<>>;

/// OPT.D5  layer_shapes at the level of types.
template <LayerConfig N>
using LayerSlots = typename Appended<
    ShapeList<FixedShape<N.query_input, N.q_heads * N.head_width>, FixedShape<N.key_input, N.k_heads * N.head_width>,
              FixedShape<N.value_input, N.v_heads * N.value_width>,
              FixedShape<N.q_heads * N.value_width, N.output_width>>,
    OptionalSlots<N.input_bias, FixedShape<N.q_heads * N.head_width>>,
    OptionalSlots<N.input_bias, FixedShape<N.k_heads * N.head_width>>,
    OptionalSlots<N.input_bias, FixedShape<N.v_heads * N.value_width>>,
    OptionalSlots<N.output_bias, FixedShape<N.output_width>>, OptionalSlots<N.dropout, FixedShape<>>>::type;

/// The tensors of a state, one for each shape of the list.
template <class T, class Shapes>
struct TypedList;
template <class T, class... Shapes>
struct TypedList<T, ShapeList<Shapes...>> {
  std::tuple<SlotOf<T, Shapes>...> slots;
};

/// What is left of a list of shapes when the first is taken.
template <class List>
struct Rest;
template <class First, class... Others>
struct Rest<ShapeList<First, Others...>> {
  using type = ShapeList<Others...>;
  using first = First;
};

/// Whether the first shape of the list is S.
template <class S, class List>
concept BeginsWith = std::same_as<typename Rest<List>::first, S>;

/// OPT.D8  take_optional(list) of a list of types: where the option is enabled the list must begin with the shape of
/// its slot, and another list does not compile.
template <bool Enabled, class S, class T, class List>
requires(Enabled&& BeginsWith<S, List>)
    std::pair<std::optional<SlotOf<T, S>>, TypedList<T, typename Rest<List>::type>> take_optional(
        const TypedList<T, List>& list) {
  return std::apply(
      [](const auto& first, const auto&... others) {
        return std::pair<std::optional<SlotOf<T, S>>, TypedList<T, typename Rest<List>::type>>{first, {{others...}}};
      },
      list.slots);
}

/// OPT.D8  A disabled option takes nothing, whatever the list.
template <bool Enabled, class S, class T, class List>
requires(!Enabled) std::pair<std::optional<SlotOf<T, S>>, TypedList<T, List>> take_optional(
    const TypedList<T, List>& list) {
  return {std::nullopt, list};
}

/// The same tensors with their shapes at run time.
template <class T, class List>
StateList<T> state_list(const TypedList<T, List>& list) {
  return std::apply([](const auto&... slots) { return StateList<T>{Tensor<T>(slots)...}; }, list.slots);
}

/// OPT.D7  unpack(config, list) of a list whose type is that of the configuration; another does not compile.
template <LayerConfig N, class T>
LayerState<T> unpack(const TypedList<T, LayerSlots<N>>& list) {
  return unpack(N, state_list(list));
}

}  // namespace attest
