#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "attest/definitions/mask.hpp"
#include "attest/files/case_file.hpp"
#include "attest/files/safetensors.hpp"
#include "support/case_archives.hpp"

namespace attest {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr Dtype floating[] = {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f8e4m3, Dtype::f8e5m2};

Archive through_bytes(const Archive& archive) { return parse_safetensors(format_safetensors(archive)); }

template <class T>
bool same_tensor(const T& a, const T& b) {
  return a.shape() == b.shape() && std::equal(a.begin(), a.end(), b.begin(), [](auto x, auto y) {
           if constexpr (std::floating_point<decltype(x)>) return std::isnan(x) ? std::isnan(y) : x == y;
           return x == y;
         });
}
template <class T>
bool same_tensor(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || same_tensor(*a, *b));
}

void expect_same(const Case& a, const Case& b) {
  const Inputs& x = a.problem.inputs;
  const Inputs& y = b.problem.inputs;
  EXPECT_TRUE(same_values(x.q, y.q));
  EXPECT_TRUE(same_values(x.k, y.k));
  EXPECT_TRUE(same_values(x.v, y.v));
  EXPECT_EQ(x.past, y.past);
  EXPECT_TRUE(same_tensor(x.bias, y.bias));
  EXPECT_TRUE(same_tensor(x.visible, y.visible));
  EXPECT_TRUE(same_tensor(x.kept, y.kept));
  for (const auto member : {&Inputs::q_lengths, &Inputs::k_lengths, &Inputs::prefix_lengths, &Inputs::offsets}) {
    EXPECT_TRUE(same_tensor(x.*member, y.*member));
  }
  EXPECT_TRUE(same_tensor(x.document_q, y.document_q));
  EXPECT_TRUE(same_tensor(x.document_k, y.document_k));
  for (const auto member : {&Inputs::alibi_slopes, &Inputs::descale_q, &Inputs::descale_k, &Inputs::descale_v}) {
    EXPECT_TRUE(same_tensor(x.*member, y.*member));
  }
  EXPECT_TRUE(same_tensor(x.sink, y.sink));
  ASSERT_EQ(a.outputs.size(), b.outputs.size());
  for (const auto& [name, output] : a.outputs) {
    EXPECT_EQ(output.format, b.outputs.at(name).format) << name;
    EXPECT_TRUE(same_values(output.values, b.outputs.at(name).values)) << name;
  }
  Call call = a.problem.call;
  call.layout = Layout::bhsd;
  EXPECT_EQ(describe(call), describe(b.problem.call));
  EXPECT_EQ(call.convention, b.problem.call.convention);
}

/// A case with every tensor that layout BHSD can have.
Archive full_case() {
  Archive a = small_case(Dtype::bf16);
  a.metadata.insert({{"dropout", "0.25"}, {"alignment", "offsets"}, {"mask_polarity", "true_is_hidden"}});
  a.metadata.insert({{"mask_axes", "batch_first"}, {"mask_short", "hide"}, {"causal", "true"}});
  a.tensors.insert({{"past_k", filled(Dtype::bf16, {2, 2, 2, 2}, 2)},
                    {"past_v", filled(Dtype::bf16, {2, 2, 2, 3}, 2)},
                    {"bias", holding(Dtype::f8e4m3, {2, 6}, std::vector<double>(12, -0.5))},
                    {"visible", holding(Dtype::u8, {2, 3, 7}, std::vector<double>(42, 1))},
                    {"kept", holding(Dtype::boolean, {2, 4, 3, 7}, std::vector<double>(168, 1))},
                    {"q_lengths", holding(Dtype::i32, {2}, {3, 0})},
                    {"k_lengths", holding(Dtype::u8, {2}, {7, 4})},
                    {"prefix_lengths", holding(Dtype::i16, {2}, {0, 7})},
                    {"offsets", holding(Dtype::i64, {2}, {-3, 1e6})},
                    {"document_q", holding(Dtype::i8, {2, 3}, {0, 1, 2, 3, 4, 5})},
                    {"document_k", holding(Dtype::i64, {2, 7}, std::vector<double>(14, 2))},
                    {"alibi_slopes", filled(Dtype::f32, {2, 4})},
                    {"sink", holding(Dtype::f32, {4}, {0.5, -infinity, 1, 2})},
                    {"descale_q", holding(Dtype::f32, {1}, {0.5})},
                    {"descale_k", filled(Dtype::f32, {2, 2})},
                    {"descale_v", filled(Dtype::f32, {2, 2})},
                    {"lse", holding(Dtype::f32, {2, 4, 3}, std::vector<double>(24, -infinity))},
                    {"weights", filled(Dtype::f16, {2, 4, 3, 7})},
                    {"scores", filled(Dtype::f16, {2, 4, 3, 7})},
                    {"present_k", filled(Dtype::bf16, {2, 2, 7, 2})},
                    {"present_v", filled(Dtype::bf16, {2, 2, 7, 3})}});
  return a;
}

}  // namespace

TEST(case_round_trip, every_layout_and_dtype_comes_back_from_an_archive_of_the_case) {
  for (const Dtype dtype : floating) {
    for (const char* layout : {"BHSD", "BSHD", "BSD", "THD"}) {
      Case first = case_from(packed_case(dtype));
      first.problem.inputs.q(0, 0, 0, 0) = -0.0;
      first.outputs.at("out").values(0, 0, 0, 0) = nan;
      set(first.problem.call, "layout", layout);
      Archive answers = archive_of(first.outputs, first.problem);
      EXPECT_EQ(answers.metadata.at("layout"), layout);
      EXPECT_EQ(answers.tensors.at("out").dtype, dtype);
      const auto outputs = outputs_from(through_bytes(answers), first.problem);
      EXPECT_TRUE(same_values(outputs.at("out").values, first.outputs.at("out").values)) << layout;
      EXPECT_TRUE(same_values(outputs.at("lse").values, first.outputs.at("lse").values)) << layout;

      const Archive archive = archive_of(first);
      EXPECT_EQ(archive.tensors.at("q").dtype, dtype);
      expect_same(first, case_from(through_bytes(archive)));
    }
  }
}

TEST(case_round_trip, packed_answers_come_back_byte_for_byte) {
  const Archive given = packed_case();
  const Case one = case_from(given);
  const Archive answers = archive_of(one.outputs, one.problem);
  for (const char* name : {"out", "lse"}) {
    EXPECT_TRUE(same_values(answers.tensors.at(name).values, given.tensors.at(name).values)) << name;
  }
}

TEST(case_round_trip, every_optional_tensor_comes_back) {
  const Case first = case_from(full_case());
  const Archive archive = archive_of(first);
  expect_same(first, case_from(through_bytes(archive)));
  for (const auto& [name, array] : full_case().tensors) {
    if (name == "bias") continue;  // padding it needed an infinity, which its format has not
    EXPECT_EQ(archive.tensors.at(name).dtype, array.dtype) << name;
  }
  EXPECT_EQ(archive.tensors.at("bias").dtype, Dtype::f64);
}

TEST(case_round_trip, a_case_without_convention_stays_without) {
  Case one = case_from(small_case());
  one.problem.call.convention = "none";
  const Archive archive = archive_of(one);
  EXPECT_FALSE(archive.metadata.contains("convention"));
  EXPECT_EQ(case_from(archive).problem.call.convention, "none");
}

TEST(case_reading, tensors_mean_what_the_record_says) {
  const Case one = case_from(full_case());
  const Inputs& in = one.problem.inputs;
  EXPECT_EQ(in.past, 2u);
  EXPECT_EQ(in.k(1, 1, 1, 1), full_case().tensors.at("past_k").values(1, 1, 1, 1)) << "cached keys come first";
  EXPECT_EQ(in.k(1, 1, 2, 1), full_case().tensors.at("k").values(1, 1, 0, 1));
  EXPECT_EQ((Shape(in.bias->shape().begin(), in.bias->shape().end())), (Shape{2, 1, 1, 7}));
  EXPECT_EQ((*in.bias)(1, 0, 0, 5), -0.5);
  EXPECT_EQ((*in.bias)(1, 0, 0, 6), -infinity) << "beyond a short bias";
  EXPECT_FALSE((*in.visible)(0, 0, 0, 0)) << "true is hidden";
  EXPECT_EQ(in.descale_q->shape(0), 1u);
  EXPECT_EQ(one.outputs.at("weights").format, Format::f16);
}

TEST(case_reading, a_packed_case_is_the_padded_one_with_lengths) {
  const Case one = case_from(packed_case());
  const Inputs& in = one.problem.inputs;
  EXPECT_EQ(*in.q_lengths, (Vector<std::int64_t>{3, 1}));
  EXPECT_EQ(*in.k_lengths, (Vector<std::int64_t>{2, 5}));
  EXPECT_EQ(in.q(1, 2, 0, 1), packed_case().tensors.at("q").values(3, 2, 1));
  EXPECT_TRUE(std::isnan(in.q(1, 2, 1, 1)));
  EXPECT_TRUE(is_visible(one.problem, 0, 0, 0, 1));
  EXPECT_FALSE(is_visible(one.problem, 0, 0, 0, 2));
  EXPECT_EQ(one.outputs.at("lse").values(1, 2, 0), packed_case().tensors.at("lse").values(2, 3));
  EXPECT_TRUE(std::isnan(one.outputs.at("out").values(1, 2, 1, 0)));
}

TEST(case_reading, overrides_win_over_the_file) {
  const Case one = case_from(small_case(), {{"causal", "true"}, {"convention", "pytorch.sdpa"}, {"causal", "false"}});
  EXPECT_EQ(one.problem.call.convention, "pytorch.sdpa");
  EXPECT_FALSE(one.problem.call.causal);
}

TEST(case_reading, the_bundled_cases_can_be_read) {
  std::size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(ATTEST_SOURCE "/tests/cases")) {
    if (file.path().extension() != ".safetensors") continue;
    const AnyCase any = read_any_case(file.path());
    if (!std::holds_alternative<Case>(any)) continue;  // a layer is read, and not written
    const Case& one = std::get<Case>(any);
    EXPECT_TRUE(one.outputs.contains("out")) << file.path();
    expect_same(one, case_from(through_bytes(archive_of(one))));
    ++count;
  }
  EXPECT_GE(count, 4u);
}

}  // namespace attest
