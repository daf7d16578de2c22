#include "attest/conventions/conventions.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "attest/conventions/ggml.hpp"
#include "attest/conventions/layout.hpp"
#include "attest/conventions/mask_form.hpp"
#include "attest/conventions/systems.hpp"
#include "support/refusal.hpp"
#include "support/spec_tests.hpp"

namespace attest {

namespace {

std::map<std::string, std::string> all_keys() {
  std::map<std::string, std::string> keys;
  for (const auto& [key, value] : describe(convention("flash-2"))) keys.emplace(key, value);
  return keys;
}

testing::AssertionResult refuses_value(const std::string& key, const std::string& value) {
  return refuses("CAS.C7", key, [&] {
    Call call;
    set(call, key, value);
  });
}

std::string after_set(const std::string& key, const std::string& value) {
  Call call;
  set(call, key, value);
  for (const Setting& setting : describe(call)) {
    if (setting.key == key) return setting.value;
  }
  return {};
}

}  // namespace

CONSTRAINT(CAS_C5, a_key_is_one_of_the_record) {
  Call call;
  EXPECT_TRUE(refuses("CAS.C5", "softcaps", [&] { set(call, "softcaps", "none"); }));
  EXPECT_TRUE(refuses("CAS.C5", "convention", [&] { set(call, "convention", "attest"); }));
  EXPECT_TRUE(refuses("CAS.C5", "Scale", [] { record_from({{"convention", "attest"}, {"Scale", "1"}}); }));
}

CONSTRAINT(CAS_C6, a_convention_has_a_known_name) {
  EXPECT_TRUE(refuses("CAS.C6", "convention", [] { convention("flash-9"); }));
  EXPECT_TRUE(refuses("CAS.C6", "convention", [] { record_from({{"convention", ""}}); }));
  for (const std::string& name : convention_names()) EXPECT_EQ(convention(name).convention, name);
}

CONSTRAINT(CAS_C6, without_a_convention_every_key_is_given) {
  EXPECT_EQ(describe(record_from(all_keys())), describe(convention("flash-2")));
  EXPECT_EQ(record_from(all_keys()).convention, "none");
  for (const std::string& key : record_keys()) {
    auto keys = all_keys();
    keys.erase(key);
    EXPECT_TRUE(refuses("CAS.C6", "missing are " + key, [&] { record_from(keys); }));
  }
  const std::string nothing = refusal_of([] { record_from({}); });
  for (const std::string& key : record_keys()) EXPECT_NE(nothing.find(key), std::string::npos) << key;
}

CONSTRAINT(CAS_C7, a_value_is_admissible) {
  for (const std::string& key : record_keys()) {
    EXPECT_TRUE(refuses_value(key, "")) << key;
    EXPECT_TRUE(key == "arithmetic" || refuses_value(key, "no such value")) << key;
  }
  EXPECT_TRUE(refuses_value("causal", "True"));
  EXPECT_TRUE(refuses_value("causal", "1"));
  EXPECT_TRUE(refuses_value("layout", "bhsd"));
  for (const char* text :
       {"nan", "inf", "-inf", "1e999", "0x", "0x1p9999", " 1", "1 ", "1,5", "+1", "--1", "-", "1.0f"}) {
    EXPECT_TRUE(refuses_value("scale", text)) << text;
  }
  for (const char* text : {"0", "-1", "1/sqrt(d)"}) EXPECT_TRUE(refuses_value("softcap", text)) << text;
  for (const char* text : {"-0.1", "1.1", "nan"}) EXPECT_TRUE(refuses_value("dropout", text)) << text;
  for (const char* text : {"-1", "1.0", "1e3", "0x10", "9007199254740993", "99999999999999999999"}) {
    EXPECT_TRUE(refuses_value("window_left", text)) << text;
  }
}

CONSTRAINT(CAS_C7, fields_fit_each_other) {
  const auto from = [](std::map<std::string, std::string> keys) {
    keys.emplace("convention", "attest");
    return [keys] { record_from(keys); };
  };
  EXPECT_TRUE(refuses("CAS.C7", "window_left", from({{"window_counts", "self_too"}, {"window_left", "0"}})));
  EXPECT_TRUE(refuses("CAS.C7", "window_right", from({{"window_counts", "self_too"}, {"window_right", "0"}})));
  EXPECT_TRUE(refuses("CAS.C7", "alignment", from({{"layout", "THD"}, {"alignment", "bottom_right_padded"}})));
}

CONSTRAINT(CNV_C1, an_argument_of_a_system_has_a_meaning_there) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(refuses("CNV.C1", "version", [] { flash_call({.version = 1}); }));
  EXPECT_TRUE(refuses("CNV.C1", "window_size[0]", [] { flash_call({.window_left = -2}); }));
  EXPECT_TRUE(refuses("CNV.C1", "window_size[1]", [] { flash_call({.window_right = -2}); }));
  EXPECT_TRUE(refuses("CNV.C1", "softcap", [] { flash_call({.softcap = -1}); }));
  EXPECT_TRUE(refuses("CNV.C1", "dropout", [] { flash_call({.dropout_p = 1.5}); }));
  EXPECT_TRUE(refuses("CNV.C1", "unidirectional", [] { runtime_multihead_call({.unidirectional = 2}); }));
  EXPECT_TRUE(refuses("CNV.C1", "scale", [=] { runtime_multihead_call({.scale = nan}); }));
  EXPECT_TRUE(refuses("CNV.C1", "causal", [] { runtime_group_query_call({.causal = -1}); }));
  EXPECT_TRUE(refuses("CNV.C1", "local_window_size", [] { runtime_group_query_call({.local_window_size = 0}); }));
  EXPECT_TRUE(
      refuses("CNV.C1", "local_window_size", [] { runtime_group_query_call({.causal = 0, .local_window_size = 2}); }));
  EXPECT_TRUE(refuses("CNV.C1", "softcap", [=] { runtime_group_query_call({.softcap = nan}); }));
  EXPECT_TRUE(refuses("CNV.C1", "local_window_size", [] { jax_call({.local_window_size = JaxWindow{1, -1}}); }));
  EXPECT_TRUE(refuses("CNV.C1", "sliding_window", [] { transformers_call({.sliding_window = 0}); }));
  EXPECT_TRUE(refuses("CNV.C1", "dropout", [] { torch_multihead_call({.dropout = -0.5}); }));
  EXPECT_TRUE(refuses("CNV.C1", "dropout", [] { torchlean_call({.probability = 2.0}); }));
  EXPECT_TRUE(refuses("CNV.C1", "scale", [] { ggml_call({}); }));
  EXPECT_TRUE(refuses("CNV.C1", "scale", [=] { ggml_call({.scale = nan}); }));
  EXPECT_TRUE(refuses("CNV.C1", "softcap", [] { ggml_call({.scale = 1.0F, .logit_softcap = -50}); }));
  EXPECT_TRUE(refuses("CNV.C1", "max_bias", [] { ggml_call({.scale = 1.0F, .max_bias = -8}); }));
}

CONSTRAINT(CNV_C1, a_mask_of_ggml_covers_the_bias) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto bias = [](const Shape& mask, const Shape& shape, float max_bias) {
    return refusal_of([&] { ggml_bias(Tensor<double>(mask, 0.0), shape, max_bias); });
  };
  EXPECT_EQ(bias({2, 3, 64, 5}, {4, 6, 3, 4}, 8), "");
  EXPECT_EQ(bias({1, 1, 3, 4}, {4, 6, 3, 4}, 0), "");
  EXPECT_EQ(bias({2, 3, 64, 3}, {4, 6, 3, 4}, 8),
            "CNV.C1: mask: a batch that divides 4, heads that divide 6, at least 3 queries, at least 4 keys, "
            "got (2, 3, 64, 3)");
  for (const Shape& mask : {Shape{3, 1, 3, 4}, {1, 4, 3, 4}, {0, 1, 3, 4}, {1, 0, 3, 4}, {1, 1, 2, 4}, {3, 4}}) {
    EXPECT_TRUE(bias(mask, {4, 6, 3, 4}, 8).starts_with("CNV.C1: mask: ")) << to_string(mask);
  }
  EXPECT_TRUE(bias({1, 1, 3, 4}, {6, 3, 4}, 8).starts_with("CNV.C1: shape: "));
  EXPECT_EQ(bias({1, 1, 1, 1}, {1, 1, 1, 1}, -8), "CNV.C1: max_bias: a finite number of at least 0, got -8");
  EXPECT_EQ(bias({1, 1, 1, 1}, {1, 1, 1, 1}, infinity), "CNV.C1: max_bias: a finite number of at least 0, got inf");
  EXPECT_TRUE(refuses("CNV.C1", "max_bias", [] { ggml_slope<double>(0, 8, -1); }));
}

TEST(record, numbers_are_read_exactly_and_printed_as_short_as_they_can_be) {
  EXPECT_EQ(after_set("scale", "0.1"), "0.1");
  EXPECT_EQ(after_set("scale", "1e-3"), "0.001");
  EXPECT_EQ(after_set("scale", "0x1.8p-4"), "0.09375");
  EXPECT_EQ(after_set("scale", "-0x1p-1074"), "-5e-324");
  EXPECT_EQ(after_set("scale", "0.1000000000000000055511151231257827"), "0.1");
  EXPECT_EQ(after_set("scale", "-0"), "-0");
  EXPECT_EQ(after_set("scale", "1/sqrt(d)"), "1/sqrt(d)");
  EXPECT_EQ(after_set("window_left", "0"), "0");
  EXPECT_EQ(after_set("window_left", "none"), "none");
  EXPECT_EQ(after_set("softcap", "30"), "30");
}

TEST(record, describing_and_setting_are_inverse) {
  for (const std::string& name : convention_names()) {
    Call call;
    for (const auto& [key, value] : describe(convention(name))) set(call, key, value);
    EXPECT_EQ(describe(call), describe(convention(name))) << name;
  }
  EXPECT_EQ(record_keys().size(), describe(Call()).size());
  for (std::size_t n = 0; n < record_keys().size(); ++n) EXPECT_EQ(describe(Call())[n].key, record_keys()[n]);
}

TEST(record, an_explicit_key_overrides_the_convention) {
  const Call call = record_from({{"convention", "flash-2"}, {"causal", "true"}, {"empty_row_lse", "-inf"}});
  EXPECT_TRUE(call.causal);
  EXPECT_EQ(call.empty_row_lse, EmptyRowLse::minus_infinity);
  EXPECT_EQ(call.layout, Layout::bshd);
  EXPECT_EQ(call.alignment, Alignment::bottom_right_actual);
  EXPECT_EQ(call.convention, "flash-2");
}

TEST(layout, unpacking_finds_each_element_where_the_layout_has_it) {
  const auto at = [](std::size_t b, std::size_t h, std::size_t s, std::size_t c) {
    return static_cast<double>(1000 * b + 100 * h + 10 * s + c);
  };
  Tensor<double> bhsd = Tensor<double>::from_shape({2, 3, 4, 5}), bshd = Tensor<double>::from_shape({2, 4, 3, 5});
  Tensor<double> bsd = Tensor<double>::from_shape({2, 4, 15}), thd = Tensor<double>::from_shape({8, 3, 5});
  for (std::size_t n = 0; n < 120; ++n) {
    const std::size_t b = n / 60, h = n / 20 % 3, s = n / 5 % 4, c = n % 5;
    bhsd(b, h, s, c) = bshd(b, s, h, c) = bsd(b, s, h * 5 + c) = thd(b * 4 + s, h, c) = at(b, h, s, c);
  }
  const Boundaries even{0, 4, 8};
  EXPECT_EQ(unpack(bhsd, Layout::bhsd, 3, nullptr, 0.0), bhsd);
  EXPECT_EQ(unpack(bshd, Layout::bshd, 3, nullptr, 0.0), bhsd);
  EXPECT_EQ(unpack(bsd, Layout::bsd, 3, nullptr, 0.0), bhsd);
  EXPECT_EQ(unpack(thd, Layout::thd, 3, &even, 0.0), bhsd);
  EXPECT_EQ(pack(bhsd, Layout::bshd, nullptr), bshd);
  EXPECT_EQ(pack(bhsd, Layout::bsd, nullptr), bsd);
  EXPECT_EQ(pack(bhsd, Layout::thd, &even), thd);

  const Boundaries uneven{0, 0, 5, 8};
  const Tensor<double> padded = unpack(thd, Layout::thd, 3, &uneven, -1.0);
  ASSERT_EQ(Shape(padded.shape().begin(), padded.shape().end()), (Shape{3, 3, 5, 5}));
  EXPECT_EQ(padded(0, 0, 0, 0), -1);
  EXPECT_EQ(padded(1, 2, 4, 1), thd(4, 2, 1));
  EXPECT_EQ(padded(2, 2, 0, 1), thd(5, 2, 1));
  EXPECT_EQ(padded(2, 2, 3, 1), -1);
  EXPECT_EQ(pack(padded, Layout::thd, &uneven), thd);
  EXPECT_EQ(boundaries_of(lengths_of(uneven)), uneven);
}

TEST(layout, a_packed_tensor_that_padding_would_blow_up_is_not_answered) {
  Boundaries one_long = Boundaries::from_shape({200'001});
  for (std::size_t b = 0; b <= 200'000; ++b) one_long(b) = b == 0 ? 0 : 200'000;
  const Tensor<double> t = Tensor<double>::from_shape({200'000, 1, 1});
  EXPECT_THROW(unpack(t, Layout::thd, 1, &one_long, 0.0), CannotAnswer);
}

TEST(mask_form, the_axes_a_mask_lacks_are_put_in_where_the_record_says) {
  const auto form = [](const Shape& shape, MaskAxes axes) {
    Call call;
    call.mask_axes = axes;
    const Tensor<bool> mask = Tensor<bool>::from_shape(shape);
    const Tensor<bool> four = four_axes(mask, call, 5, false, "visible");
    return Shape(four.shape().begin(), four.shape().end());
  };
  EXPECT_EQ(form({}, MaskAxes::numpy), (Shape{1, 1, 1, 1}));
  EXPECT_EQ(form({5}, MaskAxes::numpy), (Shape{1, 1, 1, 5}));
  EXPECT_EQ(form({3, 5}, MaskAxes::numpy), (Shape{1, 1, 3, 5}));
  EXPECT_EQ(form({4, 3, 1}, MaskAxes::numpy), (Shape{1, 4, 3, 1}));
  EXPECT_EQ(form({2, 1, 3, 5}, MaskAxes::numpy), (Shape{2, 1, 3, 5}));
  EXPECT_EQ(form({2, 5}, MaskAxes::batch_first), (Shape{2, 1, 1, 5}));
  EXPECT_EQ(form({2, 3, 5}, MaskAxes::batch_first), (Shape{2, 1, 3, 5}));
  EXPECT_EQ(form({2, 4, 3, 5}, MaskAxes::batch_first), (Shape{2, 4, 3, 5}));
  EXPECT_TRUE(refuses("CAS.C9", "visible", [&] { form({5}, MaskAxes::batch_first); }));
  EXPECT_TRUE(refuses("CAS.C9", "visible", [&] { form({1, 1, 1, 1, 5}, MaskAxes::numpy); }));
}

TEST(mask_form, keys_beyond_a_short_mask_are_hidden_where_that_is_allowed) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Call call;
  Tensor<double> bias = Tensor<double>::from_shape({2, 1});
  bias(0, 0) = -0.0;
  bias(1, 0) = 2;
  EXPECT_EQ(four_axes(bias, call, 3, -infinity, "bias").size(), 2u) << "broadcast";
  call.mask_short = ShortMask::hide;
  const Tensor<double> extended = four_axes(bias, call, 3, -infinity, "bias");
  const Tensor<double> expected{{{{-0.0, -infinity, -infinity}, {2, -infinity, -infinity}}}};
  EXPECT_EQ(extended, expected);
  EXPECT_TRUE(std::signbit(extended(0, 0, 0, 0)));
}

}  // namespace attest
