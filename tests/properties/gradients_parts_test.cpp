/// Chapter 13: the gradients of affine maps, norms, rotations and slopes, and that of a whole layer.

#include "attest/gradients/layer_gradient.hpp"
#include "attest/gradients/norms_gradient.hpp"
#include "attest/gradients/positions_gradient.hpp"
#include "support/derivatives.hpp"
#include "support/layers.hpp"

namespace attest {
namespace {

PROPERTY(GRD_P11, gradient_of_an_affine_map_is_its_transpose) {
  const std::size_t rows = *between<std::size_t>(1, 4), inside = *between<std::size_t>(1, 4),
                    width = *between<std::size_t>(1, 4);
  const bool biased = *rc::gen::arbitrary<bool>();
  RC_CLASSIFY(biased, "bias");
  const std::size_t weights = rows * inside, biases = weights + inside * width, all = biases + (biased ? width : 0);
  const Numbers x = plain(all), t = plain(all), g = plain(rows * width);
  const auto bias_in = [&]<class T>(const Vector<T>& p) {
    return biased ? std::optional<Vector<T>>(vector_part(p, biases, width)) : std::nullopt;
  };
  with_precision(gradient_bits, [&] {
    match(
        x, t,
        [&]<class T>(const Vector<T>& p) {
          return product<T>(
              g, affine(matrix_part(p, 0, rows, inside), matrix_part(p, weights, inside, width), bias_in(p)));
        },
        [&](const Vector<Enclosure>& p) {
          const AffineGradient<Enclosure> d =
              affine_gradient(matrix_part(p, 0, rows, inside), matrix_part(p, weights, inside, width), biased,
                              matrix_part(lifted<Enclosure>(g), 0, rows, width));
          return d.bias ? flat(d.x, d.weight, *d.bias) : flat(d.x, d.weight);
        });
  });
}

/// Rows whose channels are not all equal: every norm exists.
Numbers varied(std::size_t n) {
  Numbers row = plain(n);
  row.back() = row.front() + *rc::gen::element(1.0, -0.25, 0.125);
  return row;
}

PROPERTY(GRD_P12, gradients_of_norms_match_finite_differences) {
  const std::size_t n = *between<std::size_t>(2, 7);
  const bool scaled = *rc::gen::arbitrary<bool>(), shifted = *rc::gen::arbitrary<bool>();
  const double epsilon = *rc::gen::element(0.0, 1e-5, 0.1, 2.0);
  RC_CLASSIFY(scaled, "gamma");
  RC_CLASSIFY(shifted, "beta");
  RC_CLASSIFY(epsilon == 0, "epsilon 0");
  const Numbers row = varied(n), g = plain(n);
  const auto gamma_in = [&]<class T>(const Vector<T>& p) {
    return scaled ? std::optional<Row<T>>(part(p, n, n)) : std::nullopt;
  };
  const auto beta_in = [&]<class T>(const Vector<T>& p) {
    return shifted ? std::optional<Row<T>>(part(p, p.size() - n, n)) : std::nullopt;
  };
  const Numbers gamma = scaled ? plain(n) : Numbers(), beta = shifted ? plain(n) : Numbers();
  with_precision(gradient_bits, [&] {
    const Vector<Enclosure> cotangent = lifted<Enclosure>(g);
    const Numbers with_beta = joined({row, gamma, beta}), without = joined({row, gamma});
    match(
        with_beta, plain(with_beta.size()),
        [&]<class T>(const Vector<T>& p) {
          return product<T>(g, layer_norm(part(p, 0, n), gamma_in(p), beta_in(p), lift<T>(epsilon)));
        },
        [&](const Vector<Enclosure>& p) {
          const auto d =
              layer_norm_gradient(part(p, 0, n), gamma_in(p), beta_in(p), lift<Enclosure>(epsilon), row_of(cotangent));
          return flat(d.row, d.gamma, d.beta);
        });
    match(
        without, plain(without.size()),
        [&]<class T>(const Vector<T>& p) {
          return product<T>(g, rms_norm(part(p, 0, n), gamma_in(p), lift<T>(epsilon)));
        },
        [&](const Vector<Enclosure>& p) {
          const auto d = rms_norm_gradient(part(p, 0, n), gamma_in(p), lift<Enclosure>(epsilon), row_of(cotangent));
          return flat(d.row, d.gamma, d.beta);
        });
  });
}

PROPERTY(GRD_P13, gradient_of_a_rotation_turns_back) {
  const std::size_t n = *between<std::size_t>(1, 8), rotated = 2 * *between<std::size_t>(0, n / 2 + 1);
  const Pairing pairing = *rc::gen::element(Pairing::halves, Pairing::interleaved);
  const std::int64_t position = *between<std::int64_t>(0, 100);
  const Numbers x = plain(n), t = plain(n), g = plain(n);
  RC_CLASSIFY(rotated < n, "some channels are left");
  with_precision(gradient_bits, [&] {
    const RotaryCache<Enclosure> cache =
        rotary_cache<Enclosure>(static_cast<std::size_t>(position) + 1, rotated, 10000);
    const Row<Enclosure> cosines = cache_row(cache.cosines, position), sines = cache_row(cache.sines, position);
    const Vector<Enclosure> cotangent = lifted<Enclosure>(g);
    match(
        x, t,
        [&]<class T>(const Vector<T>& p) {
          return product<T>(g, rotary_at(row_of(p), position, 10000, pairing, rotated));
        },
        [&](const Vector<Enclosure>&) { return rotary_gradient(row_of(cotangent), cosines, sines, pairing); });
    const Vector<Enclosure> turned = rotary(row_of(cotangent), cosines, sines, pairing);
    RC_ASSERT(meet(rotary_gradient(row_of(turned), cosines, sines, pairing), cotangent));
  });
}

PROPERTY(GRD_P14, gradient_of_a_slope_is_that_of_its_bias) {
  Backward call = *backward_calls({.bias = false, .dropout = false, .alibi = false});
  const Extents n = extents(call.problem.inputs);
  RC_PRE(n.batch > 0 && n.q_heads > 0);
  const AlibiForm form = *rc::gen::element(AlibiForm::distance, AlibiForm::signed_);
  const double slope = *rc::gen::element(0.5, 1.0, -1.0, 0.25);
  with_precision(gradient_bits, [&] {
    Head<Enclosure> head = head_of<Enclosure>(call.problem, 0, 0, all_indices(n.queries));
    const HeadCotangents g = cotangents_of(call, 0, 0);
    const std::int64_t offset = offset_of(call.problem, 0);
    const HeadGradient<double> still = direction_of(call, 0, 0);
    const auto head_with = [&]<class T>(const T& value) {
      Head<T> result = moved_head<T>(head, still, [](const Enclosure& x, double) {
        if constexpr (std::is_same_v<T, Enclosure>)
          return x;
        else
          return T(x, Enclosure(0));
      });
      result.bias = tabulate(n.queries, n.keys, [&](std::size_t i, std::size_t j) -> T {
        if (!head.visible(i, j)) return T(0);
        return alibi(value, static_cast<std::int64_t>(i) + offset, static_cast<std::int64_t>(j), form);
      });
      return result;
    };
    match(
        {slope}, {1.0},
        [&]<class T>(const Vector<T>& p) {
          return head_loss(head_with(p(0)), g, [](const Enclosure& x) {
            if constexpr (std::is_same_v<T, Enclosure>)
              return x;
            else
              return T(x, Enclosure(0));
          });
        },
        [&](const Vector<Enclosure>& p) {
          const HeadGradient<Enclosure> d = head_gradient(head_with(p(0)), g.output, g.lse);
          return tabulate(1, [&](std::size_t) { return slope_gradient(*d.bias, offset, form); });
        });
  });
}

/// The numbers of a layer that have gradients, one list after the other, each by reference.
std::vector<double*> trained(LayerProblem& layer) {
  std::vector<double*> all;
  const auto list = [&](auto& numbers) {
    for (double& x : numbers) all.push_back(&x);
  };
  const auto list_slot = [&](auto& slot) {
    if (slot) list(*slot);
  };
  LayerState<double>& s = layer.state;
  list(s.query_weight), list(s.key_weight), list(s.value_weight), list(s.output_weight);
  list_slot(s.query_bias), list_slot(s.key_bias), list_slot(s.value_bias), list_slot(s.output_bias);
  list(layer.query), list(layer.key), list(layer.value);
  list_slot(layer.key_row), list_slot(layer.value_row), list_slot(layer.masks.bias), list_slot(layer.masks.sink);
  return all;
}

/// Its gradient in the same order.
std::vector<Enclosure> gradients(const LayerGradient<Enclosure>& g) {
  std::vector<Enclosure> all;
  const auto list = [&](const auto& numbers) { all.insert(all.end(), numbers.begin(), numbers.end()); };
  const auto list_slot = [&](const auto& slot) {
    if (slot) list(*slot);
  };
  const LayerState<Enclosure>& s = g.state;
  list(s.query_weight), list(s.key_weight), list(s.value_weight), list(s.output_weight);
  list_slot(s.query_bias), list_slot(s.key_bias), list_slot(s.value_bias), list_slot(s.output_bias);
  list(g.query), list(g.key), list(g.value);
  list_slot(g.key_row), list_slot(g.value_row), list_slot(g.bias), list_slot(g.sink);
  return all;
}

/// <g, outputs> of a layer whose numbers are moved by h t; h is so great that the moved numbers are doubles.
Enclosure layer_loss(LayerProblem problem, const Numbers& t, double h, const Tensor<double>& dout) {
  const std::vector<double*> numbers_of = trained(problem);
  for (std::size_t n = 0; n < t.size(); ++n) {
    const double before = *numbers_of[n];
    if (!std::isfinite(before)) continue;
    *numbers_of[n] = before + h * t[n];
    RC_ASSERT(*numbers_of[n] - before == h * t[n]);
  }
  Enclosure total(0);
  auto g = dout.begin();
  for (const LayerRow<Enclosure>& row : layer<Enclosure>(problem)) {
    for (const Enclosure& y : row.output) total = total + Enclosure(*g++) * y;
  }
  return total;
}

PROPERTY(GRD_P15, gradients_of_a_layer_match_finite_differences) {
  LayerProblem problem = *layers();
  for (const std::string& name : classes_of(problem)) RC_TAG(name);
  const Tensor<double> dout = numbers(shape_of_output("out", problem));
  const Numbers t = plain(trained(problem).size());
  with_precision(gradient_bits, [&] {
    const std::vector<Enclosure> g = gradients(layer_gradient<Enclosure>(problem, dout));
    RC_ASSERT(g.size() == t.size());
    const Enclosure exact = inner(t, g);
    const auto error = [&](double h) {
      const Enclosure difference = layer_loss(problem, t, h, dout) - layer_loss(problem, t, -h, dout);
      return absolute(Enclosure(difference / Enclosure(2 * h) - exact));
    };
    const Enclosure whole = error(0x1p-28), half = error(0x1p-29);
    RC_ASSERT(is_narrow(exact) && is_narrow(whole));
    // of order 2 or more, or 0 up to rounding: as in GRD.P1
    RC_ASSERT(lower_end(half) * sqrt(Point(8)) <= upper_end(whole));
  });
}

PROPERTY(GRD_P16, the_gradient_of_a_layer_has_the_slots_that_are_trained) {
  const LayerProblem problem = *layers();
  const Tensor<double> dout = numbers(shape_of_output("out", problem));
  LayerGradient<double> g = layer_gradient<double>(problem, dout);
  RC_ASSERT(!g.state.probability.has_value());
  g.state.probability = problem.state.probability;  // the only slot that it lacks
  check(problem.config, g.state);
  RC_CLASSIFY(problem.state.probability.has_value(), "dropout");
  RC_CLASSIFY(problem.config.input_bias, "input bias");
}

}  // namespace
}  // namespace attest
