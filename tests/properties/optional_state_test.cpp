/// Chapter 07: slots that may be absent, and the state of a layer.

#include "attest/definitions/typed_state.hpp"
#include "support/property.hpp"
#include "support/states.hpp"

namespace attest {
namespace {

bool same_initial(const Initial& a, const Initial& b) {
  const Drawn *x = std::get_if<Drawn>(&a), *y = std::get_if<Drawn>(&b);
  if (!x || !y) return !x && !y && same_bits(std::get<double>(a), std::get<double>(b));
  return x->scheme == y->scheme && x->seed == y->seed;
}

/// The positions of the slots that an option has in the list of a configuration with it on.
std::vector<std::size_t> places_of(const std::vector<StateSlot>& slots, const std::vector<std::string>& names) {
  std::vector<std::size_t> places;
  for (std::size_t n = 0; n < slots.size(); ++n) {
    if (std::ranges::count(names, slots[n].name)) places.push_back(n);
  }
  return places;
}

template <class List>
List without(List list, const std::vector<std::size_t>& places) {
  for (std::size_t n = places.size(); n > 0; --n) list.erase(list.begin() + static_cast<long>(places[n - 1]));
  return list;
}

PROPERTY(OPT_P1, a_disabled_option_shortens_the_list_and_changes_nothing_else) {
  struct Option {
    bool LayerConfig::*flag;
    std::vector<std::string> names;
  };
  const Option options[] = {{&LayerConfig::input_bias, {"queryBias", "keyBias", "valueBias"}},
                            {&LayerConfig::output_bias, {"outputBias"}},
                            {&LayerConfig::dropout, {"probability"}}};
  const Option& option = options[*between(0, 3)];
  LayerConfig on = *configs(), off = on;
  on.*option.flag = true;
  off.*option.flag = false;
  const std::vector<std::size_t> places = places_of(layer_shapes(on), option.names);
  RC_ASSERT(places.size() == option.names.size());
  RC_ASSERT(without(layer_shapes(on), places) == layer_shapes(off));

  const WeightSeeds seeds{1, 2, 3, 4};
  const Plan long_plan = without(layer_plan(on, {}, seeds, 0.5), places), short_plan = layer_plan(off, {}, seeds, 0.5);
  RC_ASSERT(long_plan.size() == short_plan.size());
  for (std::size_t n = 0; n < short_plan.size(); ++n) {
    RC_ASSERT(long_plan[n].slot == short_plan[n].slot);
    RC_ASSERT(same_initial(long_plan[n].initial, short_plan[n].initial));
  }
  RC_ASSERT(same_bits(without(initial_state(layer_plan(on, {}, seeds, 0.5)), places), initial_state(short_plan)));
}

template <class T>
void round_trips(const LayerConfig& config) {
  const StateList<T> list = lists<T>(layer_shapes(config));
  const LayerState<T> state = unpack(config, list);
  RC_ASSERT(same_bits(pack(state), list));
  check(config, state);
  RC_ASSERT(same_bits(pack(unpack(config, pack(state))), list));
  RC_ASSERT(state.query_bias.has_value() == config.input_bias && state.value_bias.has_value() == config.input_bias);
  RC_ASSERT(state.output_bias.has_value() == config.output_bias && state.probability.has_value() == config.dropout);
}

PROPERTY(OPT_P2, state_round_trips) {
  const LayerConfig config = *configs();
  RC_CLASSIFY(!config.input_bias && !config.output_bias && !config.dropout, "no option");
  RC_CLASSIFY(config.input_bias && config.output_bias && config.dropout, "every option");
  round_trips<double>(config);
  round_trips<float>(config);
  round_trips<RoundedBF16>(config);
}

PROPERTY(OPT_P3, take_after_append_returns_the_slot_and_the_rest) {
  const bool enabled = *rc::gen::arbitrary<bool>();
  const StateSlot slot{"slot", *rc::gen::elementOf(std::vector<Shape>{{}, {3}, {2, 3}, {0}})};
  const Tensor<double> value = *tensors(slot.shape, -2);
  StateList<double> rest;
  for (int n = *between(0, 3); n > 0; --n) rest.push_back(*tensors({2}, -2));
  const auto [taken, left] = take_optional(enabled, slot, append(optional_state(enabled, value), rest));
  RC_CLASSIFY(rest.empty(), "nothing follows");
  RC_CLASSIFY(slot.shape.empty(), "a scalar");
  RC_ASSERT(taken.has_value() == enabled);
  if (taken) RC_ASSERT(same_bits(*taken, value));
  RC_ASSERT(same_bits(left, rest));
  RC_ASSERT(optional_shapes(enabled, slot).size() == optional_state(enabled, value).size());
  RC_ASSERT(optional_init(enabled, slot, 0.0).size() == optional_state(enabled, value).size());
}

/// What compiles and what does not, seen from outside.
template <bool Enabled, class S, class List>
concept CanTake = requires(TypedList<double, List> list) {
  take_optional<Enabled, S>(list);
};
template <LayerConfig N, class List>
concept CanUnpack = requires(TypedList<double, List> list) {
  unpack<N>(list);
};

using Two = FixedShape<2>;
using Three = FixedShape<3>;
static_assert(CanTake<true, Two, ShapeList<Two, Three>>);
static_assert(!CanTake<true, Three, ShapeList<Two, Three>>, "another shape comes first");
static_assert(!CanTake<true, FixedShape<2, 1>, ShapeList<Two>>, "another rank");
static_assert(!CanTake<true, Two, ShapeList<>>, "the list has ended");
static_assert(CanTake<false, Three, ShapeList<Two, Three>> && CanTake<false, Two, ShapeList<>>);

constexpr LayerConfig with_options(bool input_bias, bool output_bias, bool dropout) {
  return {4, 2, 1, 3, 2, 5, 6, 7, 8, input_bias, output_bias, dropout};
}
constexpr LayerConfig plain = with_options(false, false, false);
static_assert(CanUnpack<plain, LayerSlots<plain>>);
static_assert(!CanUnpack<plain, LayerSlots<with_options(true, false, false)>>, "too long");
static_assert(!CanUnpack<with_options(false, false, true), LayerSlots<plain>>, "too short");

/// Fills the typed list from a run-time list of the same shapes.
template <class List>
TypedList<double, List> typed(const StateList<double>& list) {
  TypedList<double, List> result;
  std::size_t n = 0;
  const auto fill = [&](auto& slot) {
    std::copy(list[n].begin(), list[n].end(), slot.begin());
    ++n;
  };
  std::apply([&](auto&... slots) { (fill(slots), ...); }, result.slots);
  return result;
}

template <LayerConfig N>
void agrees() {
  const std::vector<StateSlot> slots = layer_shapes(N);
  std::vector<Shape> shapes;
  for (const StateSlot& slot : slots) shapes.push_back(slot.shape);
  RC_ASSERT(LayerSlots<N>::shapes() == shapes);

  const StateList<double> list = lists<double>(slots);
  const TypedList<double, LayerSlots<N>> twin = typed<LayerSlots<N>>(list);
  RC_ASSERT(same_bits(state_list(twin), list));
  RC_ASSERT(same_bits(pack(unpack<N>(twin)), list));
  const auto [taken, left] = take_optional<true, FixedShape<5, 12>>(twin);
  const auto [due, rest] = take_optional(true, slots[0], list);
  RC_ASSERT(same_bits(Tensor<double>(*taken), *due));
  RC_ASSERT(same_bits(state_list(left), rest));
  const auto [nothing, everything] = take_optional<false, FixedShape<1>>(twin);
  RC_ASSERT(!nothing && same_bits(state_list(everything), list));
}

PROPERTY(OPT_P4, typed_list_has_the_shapes_of_the_run_time_list) {
  agrees<with_options(false, false, false)>();
  agrees<with_options(false, false, true)>();
  agrees<with_options(false, true, false)>();
  agrees<with_options(false, true, true)>();
  agrees<with_options(true, false, false)>();
  agrees<with_options(true, false, true)>();
  agrees<with_options(true, true, false)>();
  agrees<with_options(true, true, true)>();
}

PROPERTY(OPT_P5, constructors_agree_where_their_options_agree) {
  const LayerExtents n{*between<std::size_t>(0, 3), *between<std::size_t>(1, 4), *between<std::size_t>(1, 4),
                       *between<std::size_t>(1, 3), *between<std::size_t>(1, 3)};
  LayerChoices choices;
  choices.seeds = {*seeds(), *seeds(), *seeds(), *seeds()};
  choices.schemes = {*rc::gen::element(Scheme::xavier_uniform, Scheme::zeros),
                     *rc::gen::element(Scheme::kaiming_uniform, Scheme::xavier_normal)};
  const bool masked = *rc::gen::arbitrary<bool>();
  if (masked) choices.mask = tabulate(n.sequence, n.sequence, [](std::size_t i, std::size_t j) { return j <= i; });
  LayerOptions output_bias;
  output_bias.output_bias = true;
  const auto agree = [&](const Layer& a, const Layer& b) {
    RC_ASSERT(same_bits(pack(a.state), pack(b.state)));
    RC_ASSERT(layer_shapes(a.config) == layer_shapes(b.config));
    RC_ASSERT(a.mask == b.mask && a.batch == b.batch && a.sequence == b.sequence && a.dropout_seed == b.dropout_seed);
  };
  const Layer plain_layer = bias_free_layer(n, choices), affine = output_bias_layer(n, choices);
  agree(plain_layer, configured_layer(n, choices));
  agree(affine, configured_layer(n, choices, output_bias));
  const Layer configured = configured_layer(n, choices, {true, true, 0.25, *seeds()});
  RC_ASSERT(pack(plain_layer.state).size() == 4u && pack(affine.state).size() == 5u);
  RC_ASSERT(pack(configured.state).size() == 9u);
  for (std::size_t w = 0; w < 4; ++w) {
    RC_ASSERT(same_bits(pack(plain_layer.state)[w], pack(configured.state)[w]));
    RC_ASSERT(same_bits(pack(affine.state)[w], pack(configured.state)[w]));
  }
  RC_ASSERT(configured.mask.has_value() == masked && configured.batch == n.batch && configured.sequence == n.sequence);
  RC_ASSERT(*configured.state.probability == 0.25);
}

}  // namespace
}  // namespace attest
