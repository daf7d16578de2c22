#include "attest/files/case_file.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>

#include "attest/files/safetensors.hpp"
#include "attest/files/whole_file.hpp"
#include "support/case_archives.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"
#include "support/spec_tests.hpp"

namespace attest {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

testing::AssertionResult refuses_case(const std::string& id, const std::string& field, const Archive& archive) {
  return refuses(id, field, [&] { case_from(archive); });
}

/// The same call in layout BSD.
Archive flat_case() {
  Archive archive = small_case();
  archive.metadata.merge(
      std::map<std::string, std::string>{{"layout", "BSD"}, {"q_heads", "4"}, {"k_heads", "2"}, {"v_heads", "2"}});
  archive.tensors = {
      {"q", filled(Dtype::f32, {2, 3, 8})}, {"k", filled(Dtype::f32, {2, 5, 4})}, {"v", filled(Dtype::f32, {2, 5, 6})}};
  return archive;
}

}  // namespace

CONSTRAINT(CAS_C5, a_metadata_key_is_known) {
  EXPECT_TRUE(refuses_case("CAS.C5", "format", with(small_case(), "format", "pt")));
  EXPECT_TRUE(refuses("CAS.C5", "windows", [] { case_from(small_case(), {{"windows", "1"}}); }));
}

CONSTRAINT(CAS_C6, a_record_has_no_open_field) {
  EXPECT_TRUE(refuses_case("CAS.C6", "convention", without(small_case(), "convention")));
  EXPECT_TRUE(refuses_case("CAS.C6", "convention", with(small_case(), "convention", "unheard-of")));
  EXPECT_TRUE(refuses_case("CAS.C6", "q_heads", without(flat_case(), "q_heads")));
  EXPECT_TRUE(refuses_case("CAS.C6", "v_heads", without(flat_case(), "v_heads")));
}

CONSTRAINT(CAS_C7, metadata_holds_admissible_values) {
  EXPECT_TRUE(refuses_case("CAS.C7", "schema", without(small_case(), "schema")));
  EXPECT_TRUE(refuses_case("CAS.C7", "schema", with(small_case(), "schema", "attest-case-2")));
  EXPECT_TRUE(refuses_case("CAS.C7", "scale", with(small_case(), "scale", "one")));
  EXPECT_TRUE(refuses_case("CAS.C7", "q_heads", with(small_case(), "q_heads", "0")));
  EXPECT_TRUE(refuses_case("CAS.C7", "q_heads", with(small_case(), "q_heads", "2")));
  EXPECT_TRUE(refuses_case("CAS.C7", "k_heads", with(small_case(), "k_heads", "4")));
  EXPECT_EQ(refusal_of([] { case_from(with(small_case(), "q_heads", "4")); }), "");
}

CONSTRAINT(CAS_C8, required_tensors_are_there) {
  for (const char* name : {"q", "k", "v"}) EXPECT_TRUE(refuses_case("CAS.C8", name, without(small_case(), name)));
  for (const char* name : {"cu_seqlens_q", "cu_seqlens_k"}) {
    EXPECT_TRUE(refuses_case("CAS.C8", name, without(packed_case(), name)));
  }
  const Array cached = filled(Dtype::f32, {2, 2, 1, 2});
  EXPECT_TRUE(refuses_case("CAS.C8", "past_v", with(small_case(), "past_k", cached)));
  EXPECT_TRUE(refuses_case("CAS.C8", "past_k", with(small_case(), "past_v", cached)));
}

CONSTRAINT(CAS_C8, a_tensor_is_one_that_the_call_has_a_use_for) {
  const Array two = holding(Dtype::i32, {2}, {1, 1});
  EXPECT_TRUE(refuses_case("CAS.C8", "query", with(small_case(), "query", two)));
  EXPECT_TRUE(refuses_case("CAS.C8", "offsets", with(small_case(), "offsets", two)));
  EXPECT_TRUE(refuses_case("CAS.C8", "cu_seqlens_q", with(small_case(), "cu_seqlens_q", two)));
  for (const char* name : {"q_lengths", "k_lengths", "past_k", "weights", "scores", "present_k"}) {
    EXPECT_TRUE(refuses_case("CAS.C8", name, with(packed_case(), name, two)));
  }
  const Problem packed = case_from(packed_case()).problem;
  EXPECT_TRUE(refuses("CAS.C8", "weights", [&] {
    archive_of({{"weights", {Format::f32, Tensor<double>::from_shape({2, 4, 3, 5})}}}, packed);
  }));
}

CONSTRAINT(CAS_C8, a_file_of_answers_holds_nothing_else) {
  const Problem problem = case_from(small_case()).problem;
  Archive answers{{{"out", filled(Dtype::f16, {2, 4, 3, 3})}}, {}};
  EXPECT_EQ(outputs_from(answers, problem).at("out").format, Format::f16);
  EXPECT_TRUE(refuses("CAS.C8", "k", [&] { outputs_from(small_case(), problem); }));
  EXPECT_TRUE(refuses("CAS.C5", "scale", [&] { outputs_from(with(answers, "scale", "1"), problem); }));
  EXPECT_TRUE(refuses("CAS.C7", "layout", [&] { outputs_from(with(answers, "layout", "BSHD"), problem); }));
}

CONSTRAINT(CAS_C9, operands_have_the_axes_of_their_layout) {
  EXPECT_TRUE(refuses_case("CAS.C9", "q", with(small_case(), "q", filled(Dtype::f32, {8, 3, 2}))));
  EXPECT_TRUE(refuses_case("CAS.C9", "k", with(small_case(), "k", filled(Dtype::f32, {}))));
  EXPECT_TRUE(refuses_case("CAS.C9", "v", with(flat_case(), "v", filled(Dtype::f32, {2, 5, 5}))));
  EXPECT_TRUE(refuses_case("CAS.C9", "v", with(flat_case(), "v", filled(Dtype::f32, {2, 5, 0}))));
  EXPECT_TRUE(refuses_case("CAS.C9", "v", with(packed_case(), "v", filled(Dtype::f32, {6, 2, 3}))));
  EXPECT_TRUE(
      refuses_case("CAS.C9", "cu_seqlens_q", with(packed_case(), "cu_seqlens_q", holding(Dtype::i32, {}, {0}))));
  EXPECT_TRUE(
      refuses_case("CAS.C9", "cu_seqlens_k", with(packed_case(), "cu_seqlens_k", holding(Dtype::i32, {0}, {}))));
  Archive cached = with(small_case(), "past_k", filled(Dtype::f32, {2, 2, 4, 2}));
  EXPECT_TRUE(refuses_case("CAS.C9", "past_v", with(cached, "past_v", filled(Dtype::f32, {2, 2, 4, 2}))));
  EXPECT_TRUE(refuses_case("ATT.C2", "keys and values", with(cached, "past_v", filled(Dtype::f32, {2, 2, 3, 3}))));
}

CONSTRAINT(CAS_C9, every_other_tensor_has_its_shape) {
  const auto numbers = [](const Shape& shape) { return filled(Dtype::f32, shape); };
  const auto integers = [](const Shape& shape) { return holding(Dtype::i64, shape, {}); };
  const Array ones = holding(Dtype::boolean, {4, 3, 5}, std::vector<double>(60, 1));
  const std::vector<std::pair<std::string, Array>> wrong = {{"q_lengths", integers({3})},
                                                            {"k_lengths", integers({2, 1})},
                                                            {"prefix_lengths", integers({})},
                                                            {"document_q", integers({3, 2})},
                                                            {"document_k", integers({5})},
                                                            {"sink", numbers({2})},
                                                            {"alibi_slopes", numbers({2})},
                                                            {"alibi_slopes", numbers({})},
                                                            {"descale_q", numbers({2})},
                                                            {"descale_k", numbers({1, 1, 1})},
                                                            {"kept", ones},
                                                            {"out", numbers({2, 3, 4, 3})},
                                                            {"lse", numbers({2, 3, 4})},
                                                            {"weights", numbers({2, 4, 3})},
                                                            {"scores", numbers({2, 2, 3, 5})},
                                                            {"present_k", numbers({2, 4, 5, 2})},
                                                            {"bias", numbers({3, 4})},
                                                            {"visible", holding(Dtype::u8, {3, 4}, {})}};
  for (const auto& [name, array] : wrong) EXPECT_TRUE(refuses_case("CAS.C9", name, with(small_case(), name, array)));
  EXPECT_TRUE(refuses_case("ATT.C11", "alibi_slopes", with(small_case(), "alibi_slopes", numbers({3, 4}))));
  EXPECT_TRUE(refuses_case("ATT.C11", "alibi_slopes", with(small_case(), "alibi_slopes", numbers({2, 2}))));
  EXPECT_TRUE(refuses_case("ATT.C11", "descale_k", with(small_case(), "descale_k", numbers({2, 3}))));
  EXPECT_TRUE(refuses_case("SHP.C3", "bias", with(small_case(), "bias", numbers({2, 5}))));
  EXPECT_TRUE(refuses_case("SHP.C3", "visible", with(small_case(), "visible", holding(Dtype::boolean, {6}, {}))));
  EXPECT_TRUE(refuses_case("CAS.C9", "lse", with(packed_case(), "lse", numbers({4, 5}))));
  EXPECT_TRUE(refuses_case("CAS.C9", "out", with(packed_case(), "out", numbers({2, 4, 3, 3}))));
}

CONSTRAINT(CAS_C10, every_tensor_has_an_element_type_of_its_kind) {
  const auto refuses_dtype = [](const std::string& name, Dtype dtype, const Shape& shape) {
    return refuses_case("CAS.C10", name, with(small_case(), name, Array{dtype, Tensor<double>(shape, 0.0)}));
  };
  EXPECT_TRUE(refuses_dtype("q", Dtype::i32, {2, 4, 3, 2}));
  EXPECT_TRUE(refuses_dtype("v", Dtype::boolean, {2, 2, 5, 3}));
  EXPECT_TRUE(refuses_dtype("visible", Dtype::f32, {3, 5}));
  EXPECT_TRUE(refuses_dtype("visible", Dtype::i64, {3, 5}));
  EXPECT_TRUE(refuses_dtype("kept", Dtype::f32, {2, 4, 3, 5}));
  EXPECT_TRUE(refuses_dtype("bias", Dtype::boolean, {3, 5}));
  EXPECT_TRUE(refuses_dtype("k_lengths", Dtype::f32, {2}));
  EXPECT_TRUE(refuses_dtype("k_lengths", Dtype::boolean, {2}));
  EXPECT_TRUE(refuses_dtype("document_q", Dtype::f64, {2, 3}));
  EXPECT_TRUE(refuses_dtype("sink", Dtype::i32, {4}));
  EXPECT_TRUE(refuses_dtype("descale_v", Dtype::u8, {1}));
  EXPECT_TRUE(refuses_dtype("out", Dtype::i32, {2, 4, 3, 3}));
  EXPECT_TRUE(refuses_dtype("lse", Dtype::boolean, {2, 4, 3}));
  EXPECT_TRUE(
      refuses_case("CAS.C10", "visible", with(small_case(), "visible", holding(Dtype::u8, {5}, {0, 1, 2, 1, 0}))));
  EXPECT_TRUE(refuses_case("CAS.C10", "cu_seqlens_q",
                           with(packed_case(), "cu_seqlens_q", holding(Dtype::f32, {3}, {0, 3, 4}))));
}

CONSTRAINT(CAS_C11, boundaries_rise_from_0_to_the_number_of_tokens) {
  const auto boundaries = [](std::vector<double> values) {
    return with(packed_case(), "cu_seqlens_k", holding(Dtype::i64, {values.size()}, values));
  };
  EXPECT_EQ(refusal_of([&] { case_from(boundaries({0, 0, 7})); }), "");
  EXPECT_TRUE(refuses_case("CAS.C11", "cu_seqlens_k", boundaries({1, 2, 7})));
  EXPECT_TRUE(refuses_case("CAS.C11", "cu_seqlens_k", boundaries({-1, 2, 7})));
  EXPECT_TRUE(refuses_case("CAS.C11", "cu_seqlens_k", boundaries({0, 8, 7})));
  EXPECT_TRUE(refuses_case("CAS.C11", "cu_seqlens_k", boundaries({0, 2, 6})));
  EXPECT_TRUE(refuses_case("CAS.C11", "cu_seqlens_k", boundaries({0, 2, 8})));
  EXPECT_TRUE(refuses_case("ATT.C9", "batch", boundaries({0, 2, 4, 7})));
}

CONSTRAINT(CAS_C17, a_case_is_a_file_or_folder_of_a_known_form) {
  const Scratch scratch;
  const std::filesystem::path& folder = scratch.folder;
  const std::filesystem::path text = folder / "text";
  write_whole(text, std::as_bytes(std::span("no case at all, but long enough")));
  EXPECT_TRUE(refuses("CAS.C17", "text", [&] { read_case(text); }));
  EXPECT_TRUE(refuses("CAS.C17", folder.string(), [&] { read_case(folder); }));
  EXPECT_TRUE(refuses("CAS.C16", "none", [&] { read_case(folder / "none"); }));
  EXPECT_TRUE(refuses("CAS.C17", "text", [&] { read_outputs(text, Problem()); }));
  write_whole(folder / "case", format_safetensors(small_case()));
  EXPECT_EQ(read_case(folder / "case").outputs.size(), 1u);
}

CONSTRAINT(ATT_C4, a_bias_in_a_file_has_neither_nan_nor_plus_infinity) {
  const Array bad = holding(Dtype::f32, {5}, {0, 0, infinity, 0, 0});
  EXPECT_TRUE(refuses_case("ATT.C4", "bias", with(small_case(), "bias", bad)));
}

CONSTRAINT(MSK_C3, lengths_in_a_file_lie_within_the_extent) {
  const auto lengths = [](double last) { return with(small_case(), "k_lengths", holding(Dtype::i16, {2}, {5, last})); };
  EXPECT_EQ(refusal_of([&] { case_from(lengths(0)); }), "");
  EXPECT_TRUE(refuses_case("MSK.C3", "k_lengths", lengths(6)));
  EXPECT_TRUE(refuses_case("MSK.C3", "k_lengths", lengths(-1)));
}

}  // namespace attest
