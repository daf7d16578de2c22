#include "attest/files/npy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "attest/files/case_keys.hpp"
#include "attest/files/npy_header.hpp"
#include "support/case_archives.hpp"
#include "support/refusal.hpp"
#include "support/spec_tests.hpp"

namespace attest {

namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::ranges::transform(text, bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  return bytes;
}

/// A file of this dictionary and these data, its header filled up to `length` bytes.
std::vector<std::byte> npy(const std::string& dictionary, const std::string& data = "", char version = 1,
                           std::size_t length = 0) {
  std::string header = dictionary;
  header.resize(std::max(length, header.size()), ' ');
  std::string text = std::string("\x93NUMPY") + version + '\0';
  for (std::size_t n = 0; n < (version == 1 ? 2 : 4); ++n) text += static_cast<char>(header.size() >> 8 * n & 0xff);
  return bytes_of(text + header + data);
}

std::string dictionary(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

testing::AssertionResult refuses_npy(const std::string& id, const std::string& field,
                                     const std::vector<std::byte>& file, std::optional<Dtype> declared = {}) {
  return refuses(id, field, [&] { parse_npy(file, "q.npy", declared); });
}

testing::AssertionResult refuses_keys(const std::string& id, const std::string& field, const std::string& text) {
  return refuses(id, field, [&] { parse_case_keys(text, "case.json"); });
}

std::vector<double> values_of(const std::vector<std::byte>& file, std::optional<Dtype> declared = {}) {
  const Array array = parse_npy(file, "q.npy", declared);
  return {array.values.begin(), array.values.end()};
}

}  // namespace

CONSTRAINT(CAS_C18, an_npy_file_has_numpys_header) {
  const std::string good = dictionary("|u1", "(1,)");
  for (const char version : {1, 2, 3}) EXPECT_EQ(values_of(npy(good, "\7", version)), std::vector<double>{7});
  EXPECT_TRUE(refuses_npy("CAS.C18", "q.npy", {}));
  EXPECT_TRUE(refuses_npy("CAS.C18", "q.npy", bytes_of("\x93NUMPX\1")));
  EXPECT_TRUE(refuses_npy("CAS.C18", "version", bytes_of("\x93NUMPY")));
  EXPECT_TRUE(refuses_npy("CAS.C18", "version", npy(good, "\7", 0)));
  EXPECT_TRUE(refuses_npy("CAS.C18", "version", npy(good, "\7", 4)));
  EXPECT_TRUE(refuses_npy("CAS.C18", "header", bytes_of(std::string("\x93NUMPY\1\0\1", 9))));
  EXPECT_TRUE(refuses_npy("CAS.C18", "header", bytes_of(std::string("\x93NUMPY\1\0\xff\xff{", 11))));
  EXPECT_TRUE(refuses_npy("CAS.C18", "header", bytes_of(std::string("\x93NUMPY\2\0\xff\xff\xff\xff{", 13))));
  EXPECT_EQ(values_of(npy(good, "\7", 1, 10'000)), std::vector<double>{7});
  EXPECT_TRUE(refuses_npy("CAS.C18", "header", npy(good, "\7", 1, 10'001)));
}

CONSTRAINT(CAS_C18, every_truncation_of_a_file_is_refused) {
  const std::vector<std::byte> whole = format_npy(filled(Dtype::f32, {2, 3}), "q");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(refusal_of([&] { parse_npy(cut, "q.npy"); }), "") << size;
  }
}

CONSTRAINT(CAS_C18, a_header_is_a_dictionary_of_the_one_form) {
  EXPECT_EQ(values_of(npy("{ \"shape\" :\t( 1 , ),'descr':\"|u1\",'fortran_order':True}\n", "\7")),
            std::vector<double>{7});
  for (const char* text :
       {"", "{", "}", "{}", "[]", "{'descr'}", "{'descr':}", "{'descr': |u1}", "{'descr': '|u1'}",
        "{'descr': '|u1', 'shape': (1,)}", "{'descr': '|u1', 'fortran_order': False}",
        "{'fortran_order': False, 'shape': (1,)}", "{'descr': u'|u1', 'fortran_order': False, 'shape': (1,)}"}) {
    EXPECT_TRUE(refuses_npy("CAS.C18", "header", npy(text, "\7"))) << text;
  }
  const std::string good = dictionary("|u1", "(1,)");
  EXPECT_TRUE(refuses_npy("CAS.C18", "header", npy(good + "x", "\7")));
  EXPECT_TRUE(refuses_npy("CAS.C18", "header", npy(good + std::string(1, '\0'), "\7")));
  EXPECT_TRUE(refuses_npy("CAS.C18", "only once", npy("{'shape': (1,), " + good.substr(1), "\7")));
  EXPECT_TRUE(refuses_npy("CAS.C18", "no keys but", npy("{'strides': (1,), " + good.substr(1), "\7")));
  for (const char* shape : {"1", "(1)", "(1", "(,)", "(-1,)", "(1.0,)", "(1L,)", "(1 1)", "((1,),)", "[1]", "('1',)",
                            "None", "(18446744073709551616,)", "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"}) {
    EXPECT_TRUE(refuses_npy("CAS.C18", "header", npy(dictionary("|u1", shape), "\7"))) << shape;
  }
  for (const char* order : {"0", "true", "'False'", "None"}) {
    EXPECT_TRUE(refuses_npy("CAS.C18", "True or False", npy(dictionary("|u1", "(1,)", order), "\7"))) << order;
  }
  for (const std::string& descr :
       {std::string("|u1\\x41"), std::string("|u1\n"), std::string("\x1b[31m"), std::string(65, 'u')}) {
    EXPECT_TRUE(refuses_npy("CAS.C18", "a text of", npy(dictionary(descr, "(1,)"), "\7"))) << descr;
  }
}

CONSTRAINT(CAS_C19, a_type_is_one_of_the_page) {
  for (const char* descr : {"|O", "<u2", "<u4", "<u8", "<c8", "<f16", "|S8", "<U2", "<M8[ns]", "|V2", "<f1", "f", "",
                            "<", "<<f4", "=f4", "<f4 ", "<f44"}) {
    EXPECT_TRUE(refuses_npy("CAS.C19", "q.npy.descr", npy(dictionary(descr, "(1,)"), "12345678"))) << descr;
  }
  EXPECT_TRUE(refuses_npy("CAS.C18", "a text in quotes",
                          npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "1234")));
}

CONSTRAINT(CAS_C19, a_declared_type_fits_numpys_own) {
  const std::string codes = "\xc0\x3f";  // 1.5 in bf16
  for (const char* descr : {"<V2", "|V2", "<i2", "<u2", "bfloat16", "<bfloat16"}) {
    EXPECT_EQ(values_of(npy(dictionary(descr, "(1,)"), codes), Dtype::bf16), std::vector<double>{1.5}) << descr;
  }
  EXPECT_EQ(values_of(npy(dictionary(">u2", "(1,)"), "\x3f\xc0"), Dtype::bf16), std::vector<double>{1.5});
  for (const char* descr : {"|V1", "<V1", "|u1", "|i1", "<f1"}) {
    EXPECT_EQ(values_of(npy(dictionary(descr, "(1,)"), "\x3e"), Dtype::f8e5m2), std::vector<double>{1.5}) << descr;
  }
  EXPECT_EQ(values_of(npy(dictionary("<f2", "(1,)"), std::string("\0\x3e", 2)), Dtype::f16), std::vector<double>{1.5});
  for (const char* descr : {"<f2", "<V1", "<V3", "<i4", "|b1", "float8_e5m2"}) {
    EXPECT_TRUE(refuses_npy("CAS.C19", "q.npy.descr", npy(dictionary(descr, "(1,)"), codes), Dtype::bf16)) << descr;
  }
  EXPECT_TRUE(refuses_npy("CAS.C19", "q.npy.descr", npy(dictionary("<V1", "(1,)"), "\1"), Dtype::boolean));
  EXPECT_TRUE(refuses_npy("CAS.C19", "q.npy.descr", npy(dictionary("|u1", "(1,)"), "\1"), Dtype::i8));
}

CONSTRAINT(CAS_C20, data_are_those_of_the_shape) {
  EXPECT_TRUE(values_of(npy(dictionary("<f4", "(3, 0)"))).empty());
  EXPECT_EQ(values_of(npy(dictionary("<i2", "()"), std::string("\1\0", 2))), std::vector<double>{1});
  EXPECT_TRUE(refuses_npy("CAS.C20", "q.npy", npy(dictionary("<f4", "(1,)"), "123")));
  EXPECT_TRUE(refuses_npy("CAS.C20", "q.npy", npy(dictionary("<f4", "(1,)"), "12345")));
  EXPECT_TRUE(refuses_npy("CAS.C20", "q.npy", npy(dictionary("<f4", "()"))));
  EXPECT_TRUE(refuses_npy("CAS.C20", "q.npy", npy(dictionary("<f4", "(0,)"), "1234")));
  EXPECT_TRUE(refuses_npy("CAS.C20", "too large", npy(dictionary("<f4", "(4294967296, 4294967296)"))));
  EXPECT_TRUE(refuses_npy("CAS.C20", "too large", npy(dictionary("<f4", "(4611686018427387905,)"), "1234")));
  EXPECT_TRUE(refuses_npy("CAS.C20", "too large", npy(dictionary("<f4", "(0, 1048577)"))));
  EXPECT_TRUE(refuses("CAS.C10", "q.npy", [] { parse_npy(npy(dictionary("|b1", "(1,)"), "\2"), "q.npy"); }));
}

CONSTRAINT(CAS_C20, a_text_is_one_and_fills_its_file) {
  const auto text = [](const std::string& descr, const std::string& shape, const std::string& data) {
    return [=] { return parse_npy_text(npy(dictionary(descr, shape), data), "case.npy"); };
  };
  const std::string wide("{\0\0\0}\0\0\0", 8);
  EXPECT_EQ(text("<U2", "()", wide)(), "{}");
  EXPECT_EQ(text(">U2", "()", std::string("\0\0\0{\0\0\0}", 8))(), "{}");
  EXPECT_EQ(text("<U3", "()", wide + std::string(4, '\0'))(), "{}");
  EXPECT_EQ(text("|S3", "()", std::string("{}\0", 3))(), "{}");
  EXPECT_EQ(text("<U4", "()", std::string("z\0\0\0\xe4\0\0\0\xac\x20\0\0\x1e\xd1\1\0", 16))(),
            "z\u00e4\u20ac\U0001d11e");
  EXPECT_TRUE(refuses("CAS.C20", "case.npy", text("<U2", "(1,)", wide)));
  EXPECT_TRUE(refuses("CAS.C20", "case.npy", text("<U3", "()", wide)));
  EXPECT_TRUE(refuses("CAS.C20", "case.npy", text("<U1", "()", wide)));
  EXPECT_TRUE(refuses("CAS.C20", "case.npy", text("<U2", "()", wide + "\1")));
  EXPECT_TRUE(refuses("CAS.C20", "case.npy", text("<U", "()", wide)));
  EXPECT_TRUE(refuses("CAS.C20", "case.npy", text("|S99999999999999999999", "()", wide)));
  EXPECT_TRUE(refuses("CAS.C19", "case.npy", text("|O", "()", wide)));
  EXPECT_TRUE(refuses("CAS.C19", "case.npy", text("", "()", wide)));
  EXPECT_TRUE(refuses("CAS.C19", "case.npy", text("<U1", "()", std::string("\0\xd8\0\0", 4))));
  EXPECT_TRUE(refuses("CAS.C19", "case.npy", text("<U1", "()", std::string("\0\0\x11\0", 4))));
}

CONSTRAINT(CAS_C21, keys_are_a_flat_object_and_stand_there_once) {
  const CaseKeys keys = parse_case_keys(
      R"( {"schema": "s", "causal": true, "scale": 0.10, "window_left": 3, "offset": -4, "dtypes": {"q": "BF16"}} )",
      "case.json");
  EXPECT_EQ(keys.metadata,
            (std::map<std::string, std::string>{
                {"schema", "s"}, {"causal", "true"}, {"scale", "0.10"}, {"window_left", "3"}, {"offset", "-4"}}));
  EXPECT_EQ(keys.dtypes, (std::map<std::string, Dtype>{{"q", Dtype::bf16}}));
  EXPECT_TRUE(parse_case_keys("{}", "case.json").metadata.empty());
  for (const char* text : {"", "{", "1", "[]", "null", "\"a\"", "{}{}", "{'a': 1}", "{\"a\": NaN}", "{\"a\": Infinity}",
                           "{\"a\": null}", "{\"a\": [1]}", "{\"a\": {}}", "{\"a\": 01}", "{\"a\": \"\xff\"}"}) {
    EXPECT_TRUE(refuses_keys("CAS.C21", "case.json", text)) << text;
  }
  for (const char* text : {R"({"dtypes": "BF16"})", R"({"dtypes": 1})", R"({"dtypes": {"q": 1}})",
                           R"({"dtypes": {"q": {}}})", R"({"dtypes": {"q": null}})"}) {
    EXPECT_TRUE(refuses_keys("CAS.C21", "dtypes", text)) << text;
  }
  EXPECT_TRUE(refuses_keys("CAS.C21", "only once", R"({"a": "1", "a": "1"})"));
  EXPECT_TRUE(refuses_keys("CAS.C21", "only once", R"({"a": "1", "\u0061": true})"));
  EXPECT_TRUE(refuses_keys("CAS.C21", "only once", R"({"dtypes": {}, "dtypes": {}})"));
  EXPECT_TRUE(refuses_keys("CAS.C21", "only once", R"({"dtypes": {"q": "BF16", "q": "BF16"}})"));
  EXPECT_TRUE(refuses_keys("CAS.C21", "zero bytes", std::string("{}\0{", 4)));
  EXPECT_TRUE(refuses_keys("CAS.C19", "dtypes.q", R"({"dtypes": {"q": "F4"}})"));
}

CONSTRAINT(CAS_C21, texts_are_short_and_without_control_characters) {
  EXPECT_TRUE(refuses_keys("CAS.C21", "case.json", R"({"a\n": 1})"));
  EXPECT_TRUE(refuses_keys("CAS.C21", "a: ", R"({"a": "\u001b[31m"})"));
  EXPECT_TRUE(refuses_keys("CAS.C21", "dtypes", R"({"dtypes": {"q\u0000": "BF16"}})"));
  EXPECT_TRUE(refuses_keys("CAS.C21", "a: ", "{\"a\": \"" + std::string(1025, 'q') + "\"}"));
  EXPECT_TRUE(refuses_keys("CAS.C21", "a: ", "{\"a\": 1." + std::string(1025, '0') + "}"));
}

TEST(npy_reading, orders_are_undone) {
  EXPECT_EQ(values_of(npy(dictionary("|i1", "(2, 3)", "True"), "\1\4\2\5\3\6")),
            (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values_of(npy(dictionary("|i1", "(2, 1, 2, 2)", "True"), "\1\5\3\7\2\6\4\10")),
            (std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(values_of(npy(dictionary(">i4", "(2,)"), std::string("\0\0\1\0\xff\xff\xff\xfe", 8))),
            (std::vector<double>{256, -2}));
  EXPECT_EQ(values_of(npy(dictionary(">f2", "(1,)"), std::string("\x3e\0", 2))), std::vector<double>{1.5});
}

TEST(npy_round_trip, every_dtype_shape_and_special_value_comes_back) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<Array> arrays;
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f8e5m2}) {
    arrays.push_back(holding(dtype, {2, 1, 3}, {-0.0, 0.0, nan, infinity, -infinity, -1.5}));
  }
  arrays.push_back(holding(Dtype::f8e4m3, {4}, {-0.0, nan, 448, -0x1p-9}));
  arrays.push_back(holding(Dtype::f64, {}, {0x1p-1074}));
  arrays.push_back(holding(Dtype::i64, {2}, {-0x1p53, 0x1p53}));
  for (const Dtype dtype : {Dtype::i32, Dtype::i16, Dtype::i8}) arrays.push_back(holding(dtype, {1, 2}, {-128, 127}));
  arrays.push_back(holding(Dtype::u8, {2}, {0, 255}));
  arrays.push_back(holding(Dtype::boolean, {2}, {0, 1}));
  arrays.push_back(holding(Dtype::f16, {3, 0, 2}, {}));
  for (const Array& array : arrays) {
    const std::vector<std::byte> file = format_npy(array, "q");
    EXPECT_EQ(parse_npy_header(file, "q.npy").bytes % 64, 0u) << name_of(array.dtype);
    const Array back = parse_npy(file, "q.npy", array.dtype);
    EXPECT_EQ(back.dtype, array.dtype);
    EXPECT_TRUE(same_values(back.values, array.values)) << name_of(array.dtype);
  }
}

}  // namespace attest
