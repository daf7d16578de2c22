/// Chapter 12: the decoder block, forwards and backwards.

#include "attest/definitions/decoder_block.hpp"

#include "attest/gradients/decoder_block_gradient.hpp"
#include "support/blocks.hpp"
#include "support/rows.hpp"

namespace attest {
namespace {

constexpr BlockExtents N = small_extents;

template <class T>
void later_tokens_do_not_matter(std::uint64_t seed, const TokensOf<N>& tokens, std::size_t place, std::size_t token) {
  const DecoderBlock<T, N> w = block_of<T, N>(seed);
  TokensOf<N> other = tokens;
  other[place] = token;
  const auto before = decoder_block(w, tokens).logits, after = decoder_block(w, other).logits;
  RC_ASSERT(same_rows<T>(before, after, place));
}

PROPERTY(DEC_P1, changing_a_token_leaves_earlier_logits_equal) {
  const std::uint64_t seed = *seeds();
  const TokensOf<N> tokens = any_tokens<N>();
  const std::size_t place = *between<std::size_t>(0, N.S), token = *between<std::size_t>(0, N.V);
  RC_CLASSIFY(tokens[place] != token && place > 0, "a change, and logits before it");
  later_tokens_do_not_matter<double>(seed, tokens, place, token);
  later_tokens_do_not_matter<float>(seed, tokens, place, token);
  later_tokens_do_not_matter<RoundedBF16>(seed, tokens, place, token);
}

/// The block without types, out of the functions of chapters 05, 06 and 11.
template <class T>
Matrix<T> run_time_logits(const DecoderBlock<T, N>& w, const TokensOf<N>& tokens) {
  const auto linear_rows = [](const auto& map, const Matrix<T>& x) {
    return affine<T>(x, map.weight, Vector<T>(map.bias));
  };
  const auto norm_rows = [](const auto& norm, const Matrix<T>& x) {
    const Vector<T> gamma = norm.gamma, beta = norm.beta;
    std::vector<Vector<T>> rows;
    for (std::size_t i = 0; i < x.shape(0); ++i) {
      rows.push_back(layer_norm<T>(row_of(x, i), row_of(gamma), row_of(beta), norm.epsilon));
    }
    return tabulate(x.shape(0), x.shape(1), [&](std::size_t i, std::size_t c) -> T { return rows[i](c); });
  };
  const auto sum = [](const Matrix<T>& a, const Matrix<T>& b) {
    return tabulate(a.shape(0), a.shape(1), [&](std::size_t i, std::size_t c) -> T { return a(i, c) + b(i, c); });
  };
  const Matrix<T> x = tabulate(N.S, N.E, [&](std::size_t i, std::size_t c) -> T { return w.embed(tokens[i], c); });
  const Matrix<T> n = norm_rows(w.norm1, x);
  Head<T> head;
  head.queries = linear_rows(w.wq, n);
  head.keys = linear_rows(w.wk, n);
  head.values = linear_rows(w.wv, n);
  head.visible = tabulate(N.S, N.S, [](std::size_t i, std::size_t j) { return j <= i; });
  head.scale = T(T(1) / sqrt(T(static_cast<int>(N.E))));
  const Matrix<T> a =
      tabulate(N.S, N.E, [&](std::size_t i, std::size_t c) -> T { return attend_row(head, i).output(c); });
  const Matrix<T> x1 = sum(x, linear_rows(w.wo, a));
  const Matrix<T> f = linear_rows(w.ff1, norm_rows(w.norm2, x1));
  const Matrix<T> r = tabulate(N.S, N.H, [&](std::size_t i, std::size_t c) -> T { return positive_part(f(i, c)); });
  return linear_rows(w.unembed, sum(x1, linear_rows(w.ff2, r)));
}

template <class T>
void forwards(std::uint64_t seed, const TokensOf<N>& tokens) {
  const DecoderBlock<T, N> w = block_of<T, N>(seed);
  RC_ASSERT(same_rows<T>(decoder_block(w, tokens).logits, Real<T, N.S, N.V>(run_time_logits(w, tokens))));
}

PROPERTY(DEC_P2, typed_block_is_made_of_the_definitions) {
  const std::uint64_t seed = *seeds();
  const TokensOf<N> tokens = any_tokens<N>();
  forwards<double>(seed, tokens);
  forwards<float>(seed, tokens);
  forwards<RoundedBF16>(seed, tokens);
}

template <class T, std::size_t In, std::size_t Out>
void switch_off(Linear<T, In, Out>& map) {
  map.weight.fill(T(0));
  map.bias.fill(T(0));
}

template <class T>
void embeddings_pass(std::uint64_t seed, const TokensOf<N>& tokens) {
  DecoderBlock<T, N> w = block_of<T, N>(seed);
  switch_off(w.wo);
  switch_off(w.ff2);
  const auto due = linear(w.unembed, embedded(w.embed, tokens));
  RC_ASSERT(same_rows<T>(decoder_block(w, tokens).logits, due));
}

PROPERTY(DEC_P3, a_block_that_adds_nothing_passes_its_embeddings_on) {
  const std::uint64_t seed = *seeds();
  const TokensOf<N> tokens = any_tokens<N>();
  embeddings_pass<double>(seed, tokens);
  embeddings_pass<float>(seed, tokens);
  embeddings_pass<RoundedBF16>(seed, tokens);
}

/// The entries of a fixed tensor in a row.
template <class Fixed>
Vector<Enclosure> flat(const Fixed& t) {
  return tabulate(t.size(), [&](std::size_t n) -> Enclosure { return t.data()[n]; });
}

PROPERTY(DEC_P4, the_bias_of_the_keys_changes_nothing) {
  const std::uint64_t seed = *seeds();
  const TokensOf<N> tokens = any_tokens<N>();
  with_precision(property_bits, [&] {
    DecoderBlock<Enclosure, N> w = block_of<Enclosure, N>(seed);
    const Vector<Enclosure> with = flat(decoder_block(w, tokens).logits);
    w.wk.bias.fill(Enclosure(0));
    const Vector<Enclosure> without = flat(decoder_block(w, tokens).logits);
    RC_ASSERT(is_narrow(with) && is_narrow(without));
    RC_ASSERT(meet(with, without));
  });
}

PROPERTY(DEC_P5, gelu_and_relu_differ_from_their_mirror_image_by_x) {
  const double number = *rc::gen::element(0.0, 1.0, -0.375, 3.0, -40.0, 0x1p-30, 1e3);
  with_precision(property_bits, [&] {
    const Enclosure x(number);
    const Enclosure bent = gelu(x) - gelu(Enclosure(-x)), cut = relu(x) - relu(Enclosure(-x));
    RC_ASSERT(is_narrow(bent) && meet(bent, x));
    RC_ASSERT(is_narrow(cut) && meet(cut, x));
  });
}

/// Whether a linear map, a norm, attention or a sum accepts what it is given.
template <class Map, class X>
concept Maps = requires(Map map, X x) {
  linear(map, x);
};
template <class Norm, class X>
concept Norms = requires(Norm norm, X x) {
  normed(norm, x);
};
template <class Q, class K, class V>
concept Attends = requires(Q q, K k, V v) {
  attend_causally(q, k, v);
};
template <class X, class Y>
concept Adds = requires(X x, Y y) {
  plus(x, y);
};
template <BlockExtents M, std::size_t S>
concept Reads = requires(DecoderBlock<double, M> w, std::array<std::size_t, S> tokens) {
  decoder_block(w, tokens);
};

PROPERTY(DEC_P6, mismatched_shapes_do_not_compile) {
  using Wide = Real<double, 3, 5>;
  using Narrow = Real<double, 3, 4>;
  static_assert(Maps<Linear<double, 4, 6>, Narrow> && !Maps<Linear<double, 4, 6>, Wide>);
  static_assert(Norms<LayerNorm<double, 4>, Narrow> && !Norms<LayerNorm<double, 4>, Wide>);
  static_assert(Attends<Narrow, Narrow, Narrow> && !Attends<Narrow, Wide, Narrow> && !Attends<Narrow, Narrow, Wide>);
  static_assert(Adds<Narrow, Narrow> && !Adds<Narrow, Wide> && !Adds<Narrow, Real<double, 2, 4>>);
  static_assert(Reads<N, N.S> && !Reads<N, N.S + 1>);
}

using Tangent = Dual<Enclosure>;

PROPERTY(DEC_P7, block_gradient_is_the_transpose_of_its_tangent) {
  const std::uint64_t seed = *seeds(), direction = *seeds(), cotangent = *seeds();
  const TokensOf<N> tokens = any_tokens<N>();
  with_precision(property_bits, [&] {
    const DecoderBlock<Enclosure, N> w = block_of<Enclosure, N>(seed), t = block_of<Enclosure, N>(direction);
    const Real<Enclosure, N.S, N.V> g = block_of<Enclosure, BlockExtents{1, N.V, 1, N.S}>(cotangent).embed;
    DecoderBlock<Tangent, N> moved;
    const auto slots = trained_slots(moved);
    for (std::size_t n = 0; n < slots.size(); ++n) {
      for (std::size_t e = 0; e < slots[n].entries.size(); ++e) {
        slots[n].entries[e] = {trained_slots(w)[n].entries[e], trained_slots(t)[n].entries[e]};
      }
    }
    const auto forwards = decoder_block(moved, tokens).logits;
    const Enclosure along = sum_over<Enclosure>(
        g.size(), [&](std::size_t n) -> Enclosure { return g.data()[n] * forwards.data()[n].tangent; });
    const DecoderBlock<Enclosure, N> d = decoder_block_gradient(w, tokens, decoder_block(w, tokens), g);
    const Enclosure back = inner_product<Enclosure>(trained_slots(d), trained_slots(t));
    RC_ASSERT(is_narrow(along) && is_narrow(back));
    RC_ASSERT(meet(along, back));
  });
}

PROPERTY(DEC_P8, gelu_and_relu_gradients_are_their_tangents) {
  const double number = *rc::gen::element(0.0, 1.0, -0.375, 3.0, -40.0, 0x1p-30, 1e3);
  const int g = *between(-8, 8);
  with_precision(property_bits, [&] {
    const Tangent x{Enclosure(number), Enclosure(g)};
    RC_ASSERT(meet(gelu(x).tangent, gelu_gradient(x.value, x.tangent)));
    RC_ASSERT(is_narrow(gelu_gradient(x.value, x.tangent)));
    RC_ASSERT(meet(relu(x).tangent, relu_gradient(x.value, x.tangent)));
  });
}

PROPERTY(DEC_P9, the_bias_of_the_keys_has_no_gradient) {
  const std::uint64_t seed = *seeds(), cotangent = *seeds();
  const TokensOf<N> tokens = any_tokens<N>();
  with_precision(property_bits, [&] {
    const DecoderBlock<Enclosure, N> w = block_of<Enclosure, N>(seed);
    const Real<Enclosure, N.S, N.V> g = block_of<Enclosure, BlockExtents{1, N.V, 1, N.S}>(cotangent).embed;
    const DecoderBlock<Enclosure, N> d = decoder_block_gradient(w, tokens, decoder_block(w, tokens), g);
    for (const Enclosure& entry : d.wk.bias) RC_ASSERT(is_narrow(entry) && contains(entry, 0));
  });
}

}  // namespace
}  // namespace attest
