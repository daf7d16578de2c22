/// Chapters 01 to 05, 15 and 18: what is refused, and in which words.

#include <limits>

#include "attest/certify/bounds.hpp"
#include "attest/definitions/attention.hpp"
#include "attest/online/online_softmax.hpp"
#include "support/by_hand.hpp"
#include "support/refusal.hpp"
#include "support/spec_tests.hpp"

namespace attest {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A call of 2 batch entries, 4 : 2 : 2 heads, 3 queries, 5 keys, widths 2 and 1, with some part changed.
template <class Change>
std::string refusal_of_call(Change&& change) {
  Problem problem;
  problem.inputs.q = Tensor<double>::from_shape({2, 4, 3, 2});
  problem.inputs.k = Tensor<double>::from_shape({2, 2, 5, 2});
  problem.inputs.v = Tensor<double>::from_shape({2, 2, 5, 1});
  change(problem);
  return refusal_of([&] { check(problem); });
}

template <class T>
Tensor<T> filled(const Shape& shape, T value) {
  Tensor<T> t = Tensor<T>::from_shape(shape);
  t.fill(value);
  return t;
}

using Lengths = Vector<std::int64_t>;

TEST(Call, is_accepted_as_it_is) {
  EXPECT_EQ(refusal_of_call([](Problem&) {}), "");
}

CONSTRAINT(NUM_C1, an_enclosure_needs_a_finite_value) {
  EXPECT_EQ(refusal_of([] { lift<Enclosure>(nan); }), "NUM.C1: an enclosure needs a finite value, got nan");
  EXPECT_EQ(refusal_of([] { lift<Enclosure>(-infinity); }), "NUM.C1: an enclosure needs a finite value, got -inf");
  EXPECT_EQ(refusal_of([] { lift<Enclosure>(0x1.fffffffffffffp1023); }), "");
}

CONSTRAINT(NUM_C2, precision_lies_between_2_and_a_million_bits) {
  const auto at = [](int bits) { return refusal_of([&] { PrecisionScope scope(bits); }); };
  EXPECT_EQ(at(1), "NUM.C2: precision in bits must lie in 2..2^20, got 1");
  EXPECT_EQ(at((1 << 20) + 1), "NUM.C2: precision in bits must lie in 2..2^20, got 1048577");
  EXPECT_EQ(at(2), "");
  EXPECT_EQ(at(1 << 20), "");
}

CONSTRAINT(SHP_C1, a_tensor_has_at_most_two_to_the_48_elements) {
  const std::size_t half = std::size_t(1) << 24;
  EXPECT_EQ(refusal_of([&] {
              element_count({half, half, 2});
            }),
            "SHP.C1: a tensor has at most 2^48 elements, got shape (16777216, 16777216, 2)");
  EXPECT_EQ(refusal_of([&] { element_count({~std::size_t(0), ~std::size_t(0)}); }).substr(0, 8), "SHP.C1: ");
  EXPECT_EQ(element_count({half, half}), half * half);
  EXPECT_EQ(element_count({~std::size_t(0), ~std::size_t(0), 0}), 0u);
}

CONSTRAINT(SHP_C2, inner_extents_agree) {
  const Matrix<double> a = tabulate(3, 4, [](std::size_t, std::size_t) { return 1.0; });
  EXPECT_EQ(refusal_of([&] { matmul(a, transpose(a)); }), "");
  EXPECT_EQ(refusal_of([&] { matmul(a, a); }), "SHP.C2: inner extents agree, got 4 and 3");
  EXPECT_EQ(refusal_of([&] { dot(row_of(a, 0), row_of(a, 0).first(2)); }), "SHP.C2: inner extents agree, got 4 and 2");
}

CONSTRAINT(SHP_C3, masks_and_biases_broadcast) {
  const auto visible = [](const Shape& shape) {
    return refusal_of_call([&](Problem& p) { p.inputs.visible = filled(shape, true); });
  };
  EXPECT_EQ(visible({2, 4, 3, 5}), "");
  EXPECT_EQ(visible({1, 1, 1, 1}), "");
  EXPECT_EQ(visible({2, 3, 3, 5}), "SHP.C3: visible: shape (2, 3, 3, 5) does not broadcast to (2, 4, 3, 5)");
  EXPECT_EQ(visible({4, 3, 5}), "SHP.C3: visible: shape (4, 3, 5) does not broadcast to (2, 4, 3, 5)");
  EXPECT_EQ(refusal_of_call([](Problem& p) {
              p.inputs.bias = filled({1, 1, 3, 4}, 0.0);
            }),
            "SHP.C3: bias: shape (1, 1, 3, 4) does not broadcast to (2, 4, 3, 5)");
}

CONSTRAINT(MSK_C1, an_additive_mask_has_neither_nan_nor_plus_infinity) {
  const auto mask = [](double x) { return refusal_of([&] { visible_from_additive(filled({1, 1, 1, 2}, x)); }); };
  EXPECT_EQ(mask(nan), "MSK.C1: an additive mask has neither NaN nor +infinity, got nan");
  EXPECT_EQ(mask(infinity), "MSK.C1: an additive mask has neither NaN nor +infinity, got inf");
  EXPECT_EQ(mask(-infinity), "");
}

CONSTRAINT(MSK_C2, a_mask_of_ones_holds_only_0_and_1) {
  const auto mask = [](double x) { return refusal_of([&] { visible_from_ones(filled({1, 1, 1, 2}, x)); }); };
  EXPECT_EQ(mask(0.5), "MSK.C2: a 1/0 mask holds only 0 and 1, got 0.5");
  EXPECT_EQ(mask(-infinity), "MSK.C2: a 1/0 mask holds only 0 and 1, got -inf");
  EXPECT_EQ(mask(nan), "MSK.C2: a 1/0 mask holds only 0 and 1, got nan");
  EXPECT_EQ(mask(1), "");
}

CONSTRAINT(MSK_C3, lengths_lie_within_the_sequence) {
  const auto with = [](auto member, const Lengths& lengths) {
    return refusal_of_call([&](Problem& p) { p.inputs.*member = lengths; });
  };
  EXPECT_EQ(with(&Inputs::q_lengths, {0, 3}), "");
  EXPECT_EQ(with(&Inputs::q_lengths, {0, 4}), "MSK.C3: q_lengths: lengths lie in 0..3, got 4");
  EXPECT_EQ(with(&Inputs::k_lengths, {5, -1}), "MSK.C3: k_lengths: lengths lie in 0..5, got -1");
  EXPECT_EQ(with(&Inputs::prefix_lengths, {6, 0}), "MSK.C3: prefix_lengths: lengths lie in 0..5, got 6");
  EXPECT_EQ(with(&Inputs::k_lengths, {5}), "MSK.C3: k_lengths: one entry for each of the 2 batch entries, got 1");
  EXPECT_EQ(refusal_of_call([](Problem& p) { p.inputs.past = 6; }), "MSK.C3: past: lengths lie in 0..5, got 6");
}

CONSTRAINT(MSK_C4, alignment_by_offsets_needs_one_for_each_batch_entry) {
  const auto with = [](const std::optional<Lengths>& offsets) {
    return refusal_of_call([&](Problem& p) {
      p.call.alignment = Alignment::offsets;
      p.inputs.offsets = offsets;
    });
  };
  const std::string due = "MSK.C4: offsets: alignment \"offsets\" needs one offset for each of the 2 batch entries";
  EXPECT_EQ(with(std::nullopt), due);
  EXPECT_EQ(with(Lengths{1}), due);
  EXPECT_EQ(with(Lengths{1, -7}), "");
}

CONSTRAINT(MSK_C6, key_padding_has_an_entry_for_each_key) {
  const auto with = [](const Shape& shape) {
    return refusal_of_call([&](Problem& p) { p.inputs.key_padding = Matrix<bool>({shape[0], shape[1]}, true); });
  };
  EXPECT_EQ(with({2, 5}), "");
  EXPECT_EQ(with({1, 5}), "MSK.C6: key_padding: shape (2, 5), got (1, 5)");
  EXPECT_EQ(with({2, 3}), "MSK.C6: key_padding: shape (2, 5), got (2, 3)");
}

CONSTRAINT(MSK_C5, document_numbers_come_together) {
  const auto with = [](const Shape& q_shape, const Shape& k_shape) {
    return refusal_of_call([&](Problem& p) {
      p.inputs.document_q = filled<std::int64_t>(q_shape, 1);
      p.inputs.document_k = filled<std::int64_t>(k_shape, 1);
    });
  };
  EXPECT_EQ(with({2, 3}, {2, 5}), "");
  EXPECT_EQ(with({2, 4}, {2, 5}), "MSK.C5: document_q: shape (2, 3), got (2, 4)");
  EXPECT_EQ(with({2, 3}, {1, 5}), "MSK.C5: document_k: shape (2, 5), got (1, 5)");
  EXPECT_EQ(refusal_of_call([](Problem& p) {
              p.inputs.document_q = filled<std::int64_t>({2, 3}, 1);
            }),
            "MSK.C5: document_q and document_k come together");
}

CONSTRAINT(SMX_C1, row_and_visible_set_have_equal_length) {
  const Vector<double> scores = vector_of({1.0, 2.0, 3.0});
  const bool visible[] = {true, true};
  EXPECT_EQ(refusal_of([&] { masked_softmax(row_of(scores), Row<bool>(visible)); }),
            "SMX.C1: row and visible set have equal length, got 3 and 2");
}

CONSTRAINT(ATT_C1, query_and_key_widths_agree) {
  const Vector<double> query = vector_of({1.0, 2.0, 3.0});
  const Matrix<double> keys = {{1, 2}};
  EXPECT_EQ(refusal_of([&] { compute(row_of(query), keys, keys); }), "ATT.C1: query and key widths agree, got 3 and 2");
  EXPECT_EQ(refusal_of_call([](Problem& p) {
              p.inputs.k = filled({2, 2, 5, 4}, 0.0);
            }),
            "ATT.C1: query and key widths agree, got 2 and 4");
  EXPECT_EQ(refusal_of_call([](Problem& p) {
              p.inputs.q = filled({2, 4, 3, 0}, 0.0);
              p.inputs.k = filled({2, 2, 5, 0}, 0.0);
            }),
            "ATT.C1: the width of a query is at least 1, got 0");
  EXPECT_EQ(refusal_of_call([](Problem& p) {
              p.inputs.v = filled({2, 5, 1}, 0.0);
            }),
            "ATT.C1: q, k and v have four axes, got 3");
}

CONSTRAINT(ATT_C2, keys_and_values_need_equal_length) {
  const Vector<double> query = vector_of({1.0});
  const Matrix<double> keys = {{1}, {2}}, values = {{1}, {2}, {3}};
  EXPECT_EQ(refusal_of([&] { compute(row_of(query), keys, values); }),
            "ATT.C2: keys and values need equal length, got 2 and 3");
  EXPECT_EQ(refusal_of([&] { block_of(row_of(query), keys); }),
            "ATT.C2: keys and values need equal length, got 1 and 2");
  EXPECT_EQ(refusal_of_call([](Problem& p) {
              p.inputs.v = filled({2, 2, 4, 1}, 0.0);
            }),
            "ATT.C2: keys and values need equal length, got 5 and 4");
}

CONSTRAINT(ATT_C3, head_counts_divide) {
  EXPECT_EQ(refusal_of_call([](Problem& p) {
              p.inputs.k = filled({2, 3, 5, 2}, 0.0);
            }),
            "ATT.C3: k: the number of heads divides the number of query heads, got 3 and 4");
  EXPECT_EQ(refusal_of_call([](Problem& p) {
              p.inputs.v = filled({2, 8, 5, 1}, 0.0);
            }),
            "ATT.C3: v: the number of heads divides the number of query heads, got 8 and 4");
  EXPECT_EQ(refusal_of_call([](Problem& p) {
              p.inputs.k = filled({2, 0, 5, 2}, 0.0);
            }),
            "ATT.C3: k: the number of heads divides the number of query heads, got 0 and 4");
  EXPECT_EQ(refusal_of_call([](Problem& p) { p.inputs.v = filled({2, 1, 5, 1}, 0.0); }), "");
}

CONSTRAINT(ATT_C4, bias_has_neither_nan_nor_plus_infinity) {
  const auto with = [](double x) {
    return refusal_of_call([&](Problem& p) { p.inputs.bias = filled({1, 1, 3, 5}, x); });
  };
  EXPECT_EQ(with(nan), "ATT.C4: bias: neither NaN nor +infinity, got nan");
  EXPECT_EQ(with(infinity), "ATT.C4: bias: neither NaN nor +infinity, got inf");
  EXPECT_EQ(with(-infinity), "");
}

CONSTRAINT(ATT_C5, softcap_is_a_positive_finite_number) {
  const auto with = [](double cap) { return refusal_of_call([&](Problem& p) { p.call.softcap = cap; }); };
  EXPECT_EQ(with(0), "ATT.C5: softcap: a positive finite number, got 0");
  EXPECT_EQ(with(-2), "ATT.C5: softcap: a positive finite number, got -2");
  EXPECT_EQ(with(infinity), "ATT.C5: softcap: a positive finite number, got inf");
  EXPECT_EQ(with(nan), "ATT.C5: softcap: a positive finite number, got nan");
  EXPECT_EQ(with(0x1p-1074), "");
}

/// A call with dropout of this probability.
std::string refusal_of_dropout(double probability) {
  return refusal_of_call([&](Problem& p) {
    p.call.dropout = probability;
    p.inputs.kept = filled({2, 4, 3, 5}, true);
  });
}

CONSTRAINT(ATT_C6, dropout_is_a_probability) {
  EXPECT_EQ(refusal_of_dropout(-0.5), "ATT.C6: dropout: a probability in [0, 1], got -0.5");
  EXPECT_EQ(refusal_of_dropout(1.5), "ATT.C6: dropout: a probability in [0, 1], got 1.5");
  EXPECT_EQ(refusal_of_dropout(nan), "ATT.C6: dropout: a probability in [0, 1], got nan");
  EXPECT_EQ(refusal_of_dropout(0), "");
  EXPECT_EQ(refusal_of_dropout(1), "");
}

CONSTRAINT(ATT_C7, a_sink_is_neither_nan_nor_plus_infinity) {
  const auto with = [](const Vector<double>& sink) {
    return refusal_of_call([&](Problem& p) { p.inputs.sink = sink; });
  };
  EXPECT_EQ(with({0, 0, 0, nan}), "ATT.C7: sink: neither NaN nor +infinity, got nan");
  EXPECT_EQ(with({0, infinity, 0, 0}), "ATT.C7: sink: neither NaN nor +infinity, got inf");
  EXPECT_EQ(with({0, 0}), "ATT.C7: sink: one for each of the 4 query heads, got 2");
  EXPECT_EQ(with({0, -infinity, 0, 0}), "");
}

CONSTRAINT(ATT_C8, scale_is_finite) {
  const auto with = [](double scale) { return refusal_of_call([&](Problem& p) { p.call.scale = scale; }); };
  EXPECT_EQ(with(infinity), "ATT.C8: scale: a finite number, got inf");
  EXPECT_EQ(with(nan), "ATT.C8: scale: a finite number, got nan");
  EXPECT_EQ(with(0), "");
  EXPECT_EQ(with(-1), "");
}

CONSTRAINT(ATT_C9, batch_sizes_agree) {
  EXPECT_EQ(refusal_of_call([](Problem& p) {
              p.inputs.k = filled({3, 2, 5, 2}, 0.0);
            }),
            "ATT.C9: q, k and v have the same batch size, got 2, 3 and 2");
  EXPECT_EQ(refusal_of_call([](Problem& p) {
              p.inputs.v = filled({1, 2, 5, 1}, 0.0);
            }),
            "ATT.C9: q, k and v have the same batch size, got 2, 2 and 1");
}

CONSTRAINT(ATT_C10, a_kept_mask_comes_with_dropout_and_covers_it) {
  EXPECT_EQ(refusal_of_call([](Problem& p) { p.call.dropout = 0.5; }),
            "ATT.C10: kept: present exactly when the call has dropout (a layer: in training, with a probability)");
  EXPECT_EQ(refusal_of_call([](Problem& p) {
              p.inputs.kept = filled({2, 4, 3, 5}, true);
            }),
            "ATT.C10: kept: present exactly when the call has dropout (a layer: in training, with a probability)");
  EXPECT_EQ(refusal_of_call([](Problem& p) {
              p.call.dropout = 0.5;
              p.inputs.kept = filled({1, 4, 3, 5}, true);
            }),
            "ATT.C10: kept: shape (2, 4, 3, 5), got (1, 4, 3, 5)");
}

CONSTRAINT(ATT_C11, factors_are_finite_and_one_for_each_head_or_group) {
  const auto with = [](auto member, const Shape& shape, double factor) {
    return refusal_of_call([&](Problem& p) { p.inputs.*member = filled(shape, factor); });
  };
  EXPECT_EQ(with(&Inputs::descale_q, {2, 2}, 0.5), "");
  EXPECT_EQ(with(&Inputs::descale_k, {1, 1}, 0.5), "");
  EXPECT_EQ(with(&Inputs::descale_q, {1, 4}, nan), "ATT.C11: descale_q: finite factors, got nan");
  EXPECT_EQ(with(&Inputs::descale_k, {1, 3}, 1), "ATT.C11: descale_k: shape (1 or 2, a divisor of 2), got (1, 3)");
  EXPECT_EQ(with(&Inputs::descale_v, {3, 2}, 1), "ATT.C11: descale_v: shape (1 or 2, a divisor of 2), got (3, 2)");
  EXPECT_EQ(with(&Inputs::descale_v, {1, 0}, 1), "ATT.C11: descale_v: shape (1 or 2, a divisor of 2), got (1, 0)");
  EXPECT_EQ(with(&Inputs::alibi_slopes, {1, 4}, -infinity), "ATT.C11: alibi_slopes: finite factors, got -inf");
  EXPECT_EQ(with(&Inputs::alibi_slopes, {1, 2}, 1), "ATT.C11: alibi_slopes: one for each of the 4 query heads");
  EXPECT_EQ(with(&Inputs::alibi_slopes, {2, 4}, 0), "");
}

CONSTRAINT(BND_C1, a_sum_is_short_enough_for_its_bound) {
  const FloatModel f16 = float_model(Format::f16);
  EXPECT_EQ(refusal_of([&] { gamma(2048, f16); }), "BND.C1: gamma(n) needs n u < 1, got n = 2048");
  EXPECT_EQ(refusal_of([&] { gamma(2047, f16); }), "");
}

CONSTRAINT(BND_C2, the_bounds_of_a_row_hold_without_dropout) {
  Problem problem;
  problem.inputs.q = problem.inputs.k = problem.inputs.v = filled({1, 1, 1, 1}, 1.0);
  problem.inputs.kept = filled({1, 1, 1, 1}, true);
  for (const double probability : {0.5, 1.0}) {
    problem.call.dropout = probability;
    const Head<Enclosure> head = head_of<Enclosure>(problem, 0, 0, {0});
    EXPECT_EQ(refusal_of([&] { row_bounds(head, 0, attend_row(head, 0), float_model(Format::f64)); }),
              "BND.C2: the bounds of a row hold without dropout");
  }
}

CONSTRAINT(BND_C3, the_sum_of_exponentials_is_known_to_less_than_itself) {
  const std::vector<Enclosure> logits = {Enclosure(0), Enclosure(200)}, exact = {Enclosure(0), Enclosure(0)};
  const std::string sentence = refusal_of([&] { row_errors(logits, exact, float_model(Format::bf16)); });
  EXPECT_TRUE(sentence.starts_with("BND.C3: the relative error of the sum of exponentials is below 1, got 1."))
      << sentence;
  EXPECT_EQ(refusal_of([&] { row_errors(logits, exact, float_model(Format::f16)); }), "");
}

CONSTRAINT(ONL_C1, the_sizes_of_a_partition_add_up_to_the_row) {
  const Vector<double> logits = vector_of({0.0, 1.0, 2.0});
  const Matrix<double> values = {{1}, {2}, {3}};
  const auto with = [&](const std::vector<std::size_t>& sizes) {
    return refusal_of([&] { stream(row_of(logits), values, sizes); });
  };
  EXPECT_EQ(with({2, 2}), "ONL.C1: the sizes of a partition add up to the 3 keys of the row");
  EXPECT_EQ(with({1, 1}), "ONL.C1: the sizes of a partition add up to the 3 keys of the row");
  EXPECT_EQ(with({}), "ONL.C1: the sizes of a partition add up to the 3 keys of the row");
  EXPECT_EQ(with({0, 3}), "");
}

}  // namespace
}  // namespace attest
