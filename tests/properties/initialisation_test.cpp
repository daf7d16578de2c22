/// Chapter 09: first values.

#include "attest/certify/rounding.hpp"
#include "support/property.hpp"
#include "support/states.hpp"

namespace attest {
namespace {

rc::Gen<Scheme> drawing_schemes() {
  return rc::gen::element(Scheme::xavier_uniform, Scheme::xavier_normal, Scheme::kaiming_uniform,
                          Scheme::kaiming_normal);
}

PROPERTY(INI_P1, uniform_values_lie_within_their_bound) {
  const Scheme scheme = *rc::gen::element(Scheme::xavier_uniform, Scheme::kaiming_uniform);
  const Shape shape{*between<std::size_t>(1, 9), *between<std::size_t>(1, 9)};
  with_precision(property_bits, [&] {
    const Point bound = lower_end(spread_of<Enclosure>(scheme, fans_of(shape)));
    for (const double x : initial_tensor(scheme, shape, *seeds())) RC_ASSERT(std::abs(x) <= bound);
  });
  // The words that lead closest to the bound and to the middle.
  const auto word = [] { return *rc::gen::element<std::uint32_t>(0, 0xfff, 0x1000, 0x7fffffff, 0x80000000, ~0u); };
  const std::uint32_t high = word(), low = word();
  const double u = unit_uniform(high, low);
  RC_ASSERT(0 < u && u < 1 && u != 0.5);
  RC_ASSERT(1 - u == unit_uniform(~high, ~low));
}

PROPERTY(INI_P2, biases_and_disabled_options_consume_no_seed) {
  LayerConfig one = *configs(), other = one;
  std::tie(other.input_bias, other.output_bias, other.dropout) = *rc::gen::arbitrary<std::tuple<bool, bool, bool>>();
  const WeightSchemes schemes{*drawing_schemes(), *drawing_schemes()};
  const WeightSeeds given{*seeds(), *seeds(), *seeds(), *seeds()};
  const double p = *rc::gen::element(0.0, 0.25, 1.0);
  const Plan plan = layer_plan(other, schemes, given, p);
  std::vector<std::uint64_t> consumed;
  for (const PlannedSlot& planned : plan) {
    if (const Drawn* drawn = std::get_if<Drawn>(&planned.initial)) consumed.push_back(drawn->seed);
  }
  RC_ASSERT(consumed == (std::vector{given.query, given.key, given.value, given.output}));

  const StateList<double> first = initial_state(layer_plan(one, schemes, given, p)), second = initial_state(plan);
  for (std::size_t w = 0; w < 4; ++w) RC_ASSERT(same_bits(first[w], second[w]));
  RC_CLASSIFY(second.size() > 4, "with options");
  for (std::size_t n = 4; n < second.size(); ++n) {
    const double due = plan[n].slot.name == "probability" ? p : 0.0;
    for (const double x : second[n]) RC_ASSERT(same_bits(x, due));
  }
}

PROPERTY(INI_P3, initial_value_depends_on_scheme_fans_seed_and_index_only) {
  const Scheme scheme = *drawing_schemes();
  const std::uint64_t seed = *seeds();
  const Shape shape{*between<std::size_t>(1, 5), *between<std::size_t>(1, 5)};
  const Tensor<double> weight = initial_tensor(scheme, shape, seed);
  initial_tensor(*drawing_schemes(), shape, *seeds());
  with_precision(*rc::gen::element(24, 64, 2048), [&] {  // the precision of others is not read
    RC_ASSERT(same_bits(initial_tensor(scheme, shape, seed), weight));
  });
  const std::size_t n = *between<std::size_t>(0, weight.size());
  RC_ASSERT(same_bits(initial_value(scheme, fans_of(shape), seed, n), weight.data()[n]));

  const Scheme xavier = *rc::gen::element(Scheme::xavier_uniform, Scheme::xavier_normal);
  const Tensor<double> wide = initial_tensor(xavier, {2, 4}, seed), tall = initial_tensor(xavier, {5, 1}, seed);
  RC_ASSERT(std::equal(tall.begin(), tall.end(), wide.begin(), [](double a, double b) { return same_bits(a, b); }));
}

/// The variance that the scheme is known for; not by way of its spread.
Enclosure variance_of(Scheme scheme, const Shape& shape) {
  const bool xavier = scheme == Scheme::xavier_uniform || scheme == Scheme::xavier_normal;
  return Enclosure(2) / Enclosure(static_cast<double>(xavier ? shape[0] + shape[1] : shape[0]));
}

/// Whether the mean of the values, and that of their squares, lie within the bounds of INI.P4.
void moments_fit(const Tensor<double>& values, bool uniform, const Enclosure& variance) {
  const Enclosure count(static_cast<double>(values.size()));
  const Enclosure x = 41 * log(Enclosure(2));
  Enclosure sum(0), squares(0);
  for (const double v : values) {
    sum += lift<Enclosure>(v);
    squares += lift<Enclosure>(v) * lift<Enclosure>(v);
  }
  const Enclosure share = sqrt(Enclosure(x / (2 * count)));
  const Enclosure square = uniform ? Enclosure(3 * variance) : variance;  // of the spread
  const Enclosure mean_bound = 2 * sqrt(square) * share;
  const Enclosure square_bound =
      uniform ? Enclosure(square * share) : Enclosure(square * (2 * sqrt(Enclosure(x / count)) + 2 * x / count));
  RC_ASSERT(lower_end(absolute(Enclosure(sum / count))) <= upper_end(mean_bound));
  RC_ASSERT(lower_end(absolute(Enclosure(squares / count - variance))) <= upper_end(square_bound));
}

PROPERTY(INI_P4, sample_variance_is_that_of_the_scheme) {
  const Scheme scheme = *drawing_schemes();
  const Shape shape = *rc::gen::elementOf(std::vector<Shape>{{64, 16}, {16, 64}, {32, 32}});
  RC_TAG(is_uniform(scheme) ? "uniform" : "normal");
  with_precision(property_bits, [&] {
    moments_fit(initial_tensor(scheme, shape, *seeds()), is_uniform(scheme), variance_of(scheme, shape));
  });
}

PROPERTY(INI_P5, zeros_are_zero) {
  const Shape shape = *rc::gen::elementOf(std::vector<Shape>{{3, 2}, {4}, {}, {0, 2}});
  for (const double x : initial_tensor(Scheme::zeros, shape, *seeds())) RC_ASSERT(same_bits(x, 0.0));
  const LayerConfig config = *configs();
  const Plan plan = layer_plan(config, {Scheme::zeros, Scheme::zeros}, {1, 2, 3, 4}, 0.5);
  for (const PlannedSlot& planned : plan) RC_ASSERT(std::holds_alternative<double>(planned.initial));
  const StateList<double> state = initial_state(plan);
  for (std::size_t n = 0; n < state.size(); ++n) {
    const double due = plan[n].slot.name == "probability" ? 0.5 : 0.0;
    for (const double x : state[n]) RC_ASSERT(same_bits(x, due));
  }
}

PROPERTY(INI_P6, other_seeds_give_other_values) {
  const Scheme scheme = *drawing_schemes();
  const std::uint64_t seed = *seeds(), other = *seeds();
  RC_PRE(seed != other);
  const Shape shape = *rc::gen::elementOf(std::vector<Shape>{{2, 4}, {4, 2}, {3, 3}});
  RC_ASSERT(!same_bits(initial_tensor(scheme, shape, seed), initial_tensor(scheme, shape, other)));
}

PROPERTY(INI_P7, initial_value_is_the_real_number_rounded_once) {
  const Scheme scheme = *drawing_schemes();
  const Fans fans{*rc::gen::element<std::size_t>(1, 2, 3, 6, 24, 1000), *rc::gen::element<std::size_t>(1, 3, 6, 54)};
  const std::uint64_t seed = *seeds(), n = *between<std::uint64_t>(0, 1000);
  RC_TAG(is_uniform(scheme) ? "uniform" : "normal");
  with_precision(property_bits, [&] {
    const Enclosure deviate = is_uniform(scheme)
                                  ? Enclosure(2 * lift<Enclosure>(unit_uniform_at(seed, n)) - 1)
                                  : standard_normal(unit_uniform_at(seed, 2 * n), unit_uniform_at(seed, 2 * n + 1));
    const Enclosure real = spread_of<Enclosure>(scheme, fans) * deviate;
    const Candidates rounded = round_enclosure(Format::f64, real, Overflow::standard);
    RC_ASSERT(same_bits(rounded.lower, rounded.upper));
    RC_ASSERT(same_bits(initial_value(scheme, fans, seed, n), rounded.lower));
  });
}

}  // namespace
}  // namespace attest
