#include "attest/files/safetensors.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "attest/files/whole_file.hpp"
#include "support/case_archives.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"
#include "support/spec_tests.hpp"

namespace attest {

namespace {

namespace fs = std::filesystem;

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

/// A file with a given header length, header and amount of data.
std::vector<std::byte> file_of(std::uint64_t length, const std::string& header, std::size_t data = 0) {
  std::string text(8, '\0');
  for (std::size_t n = 0; n < 8; ++n) text[n] = static_cast<char>(length >> 8 * n & 0xff);
  return bytes_of(text + header + std::string(data, '\0'));
}

testing::AssertionResult refuses_header(const std::string& id, const std::string& field, const std::string& header,
                                        std::size_t data = 0) {
  return refuses(id, field, [&] { parse_safetensors(file_of(header.size(), header, data)); });
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t n = 0; n < times; ++n) all += text;
  return all;
}

}  // namespace

CONSTRAINT(CAS_C1, a_header_lies_within_its_file) {
  EXPECT_TRUE(refuses("CAS.C1", "header length", [] { parse_safetensors({}); }));
  EXPECT_TRUE(refuses("CAS.C1", "header length", [] { parse_safetensors(bytes_of("1234567")); }));
  EXPECT_TRUE(refuses("CAS.C1", "header length", [] { parse_safetensors(file_of(3, "{}")); }));
  EXPECT_TRUE(
      refuses("CAS.C1", "header length", [] { parse_safetensors(file_of(std::uint64_t(4) << 30, "{}", 1000)); }));
  EXPECT_TRUE(refuses("CAS.C1", "header length", [] { parse_safetensors(file_of(~std::uint64_t(0), "{}")); }));
}

CONSTRAINT(CAS_C1, every_truncation_of_a_file_is_refused) {
  const std::vector<std::byte> whole = format_safetensors(small_case());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(refusal_of([&] { parse_safetensors(std::span(whole).first(size)); }), "") << size;
  }
}

CONSTRAINT(CAS_C2, a_header_is_json_of_the_one_form) {
  const std::string good = entry("F32", "[1]", "[0,4]");
  EXPECT_EQ(refusal_of([&] { parse_safetensors(file_of(good.size() + 6, R"({"q":)" + good + "}", 4)); }), "");
  EXPECT_TRUE(refuses_header("CAS.C2", "header", ""));
  EXPECT_TRUE(refuses_header("CAS.C2", "header", "[]"));
  EXPECT_TRUE(refuses_header("CAS.C2", "header", " {}"));
  EXPECT_TRUE(refuses_header("CAS.C2", "byte", R"({"q":)" + good));
  EXPECT_TRUE(refuses_header("CAS.C2", "byte", R"({"q":)" + good + "}}", 4));
  EXPECT_TRUE(refuses_header("CAS.C2", "byte", "{\"\xff\":1}"));
  EXPECT_TRUE(refuses_header("CAS.C2", "q", R"({"q":1})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "q", R"({"q":null})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "q", R"({"q":"F32"})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "q", R"({"q":[1]})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "q", R"({"q":{}})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "q.strides", R"({"q":{"strides":[1]}})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "q.dtype", R"({"q":{"dtype":4}})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "q.shape", R"({"q":{"shape":4}})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "q.shape", R"({"q":{"shape":[-1]}})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "q.shape", R"({"q":{"shape":[1.0]}})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "q.shape", R"({"q":{"shape":["1"]}})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "q.shape", R"({"q":{"shape":[99999999999999999999]}})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "q.data_offsets", R"({"q":)" + entry("F32", "[1]", "[0,4,8]") + "}", 8));
  EXPECT_TRUE(refuses_header("CAS.C2", "__metadata__.schema", R"({"__metadata__":{"schema":1}})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "__metadata__", R"({"__metadata__":"x"})"));
}

CONSTRAINT(CAS_C2, a_header_is_not_nested_deeper_than_its_form) {
  EXPECT_TRUE(refuses_header("CAS.C2", "q", R"({"q":)" + repeated(R"({"q":)", 1'000'000)));
  EXPECT_TRUE(refuses_header("CAS.C2", "q", R"({"q":)" + repeated("[", 1'000'000)));
  EXPECT_TRUE(refuses_header("CAS.C2", "q.shape", R"({"q":{"shape":)" + repeated("[", 1'000'000)));
  EXPECT_TRUE(refuses_header("CAS.C2", "q.shape", R"({"q":{"shape":[{}]}})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "q.shape", R"({"q":{"shape":[)" + repeated("1,", 100'000) + "1]}}"));
}

CONSTRAINT(CAS_C2, a_key_stands_there_once) {
  const std::string good = entry("F32", "[1]", "[0,4]");
  EXPECT_TRUE(refuses_header("CAS.C2", "q", R"({"q":)" + good + R"(,"q":)" + good + "}", 4));
  EXPECT_TRUE(refuses_header("CAS.C2", "q.dtype", R"({"q":{"dtype":"F32","dtype":"F32"}})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "q.shape", R"({"q":{"shape":[],"shape":[]}})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "__metadata__", R"({"__metadata__":{},"__metadata__":{}})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "__metadata__.a", R"({"__metadata__":{"a":"1","a":"1"}})"));
}

CONSTRAINT(CAS_C2, texts_are_short_and_without_control_characters) {
  EXPECT_TRUE(refuses_header("CAS.C2", "header", R"({"q\n":{}})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "header", R"({"\u001b[31m":{}})"));
  EXPECT_TRUE(refuses_header("CAS.C2", "header", "{\"" + std::string(1025, 'q') + "\":{}}"));
  EXPECT_TRUE(refuses_header("CAS.C2", "__metadata__.arithmetic", R"({"__metadata__":{"arithmetic":"a\nb"}})"));
}

CONSTRAINT(CAS_C3, tensors_tile_the_data) {
  const auto two = [](const std::string& q, const std::string& k) {
    return R"({"q":)" + entry("F32", "[1]", q) + R"(,"k":)" + entry("F32", "[1]", k) + "}";
  };
  EXPECT_EQ(refusal_of([&] { parse_safetensors(file_of(two("[4,8]", "[0,4]").size(), two("[4,8]", "[0,4]"), 8)); }),
            "");
  EXPECT_TRUE(refuses_header("CAS.C3", "q.data_offsets", two("[4,0]", "[0,4]"), 8));
  EXPECT_TRUE(refuses_header("CAS.C3", "q.data_offsets", two("[8,12]", "[0,4]"), 8));
  EXPECT_TRUE(refuses_header("CAS.C3", "q.data_offsets", two("[4,18446744073709551615]", "[0,4]"), 8));
  EXPECT_TRUE(refuses_header("CAS.C3", ".data_offsets", two("[0,4]", "[0,4]"), 8));
  EXPECT_TRUE(refuses_header("CAS.C3", "q.data_offsets", two("[2,6]", "[0,4]"), 6));
  EXPECT_TRUE(refuses_header("CAS.C3", "q.data_offsets", two("[8,12]", "[0,4]"), 12));
  EXPECT_TRUE(refuses_header("CAS.C3", "k.data_offsets", two("[8,12]", "[4,8]"), 12));
  EXPECT_TRUE(refuses_header("CAS.C3", "data_offsets", two("[4,8]", "[0,4]"), 9));
}

CONSTRAINT(CAS_C4, a_tensor_has_the_size_of_its_shape) {
  const auto one = [](const std::string& dtype, const std::string& shape) {
    return R"({"q":)" + entry(dtype, shape, "[0,8]") + "}";
  };
  EXPECT_EQ(refusal_of([&] { parse_safetensors(file_of(one("F32", "[2]").size(), one("F32", "[2]"), 8)); }), "");
  EXPECT_TRUE(refuses_header("CAS.C4", "q.dtype", one("F31", "[2]"), 8));
  EXPECT_TRUE(refuses_header("CAS.C4", "q.dtype", one("U64", "[1]"), 8));
  EXPECT_TRUE(refuses_header("CAS.C4", "q", one("F32", "[]"), 8));
  EXPECT_TRUE(refuses_header("CAS.C4", "q", one("F32", "[3]"), 8));
  EXPECT_TRUE(refuses_header("CAS.C4", "q", one("F32", "[0]"), 8));
  EXPECT_TRUE(refuses_header("CAS.C4", "q", one("F64", "[2]"), 8));
}

CONSTRAINT(CAS_C4, the_size_of_a_shape_does_not_overflow) {
  const auto one = [](const std::string& shape, const std::string& offsets) {
    return R"({"q":)" + entry("F32", shape, offsets) + "}";
  };
  EXPECT_TRUE(refuses_header("CAS.C4", "q", one("[4294967296,4294967296]", "[0,0]")));
  EXPECT_TRUE(refuses_header("CAS.C4", "q", one("[4611686018427387905]", "[0,4]"), 4));
  EXPECT_TRUE(refuses_header("CAS.C4", "q", one("[9223372036854775808,2,1]", "[0,8]"), 8));
  EXPECT_TRUE(refuses_header("CAS.C4", "q", one("[1099511627776,0]", "[0,0]")));
  EXPECT_TRUE(refuses_header("CAS.C4", "q", one("[0,65536,65536]", "[0,0]")));
}

CONSTRAINT(CAS_C10, integers_are_exact_and_booleans_are_0_or_1) {
  const auto parse = [](const std::string& dtype, std::uint64_t code) {
    const std::size_t width = dtype == "I64" ? 8 : 1;
    const std::string header = R"({"kept":)" + entry(dtype, "[1]", "[0," + std::to_string(width) + "]") + "}";
    std::vector<std::byte> file = file_of(header.size(), header, width);
    for (std::size_t n = 0; n < width; ++n)
      file[file.size() - width + n] = static_cast<std::byte>(code >> 8 * n & 0xff);
    return parse_safetensors(file).tensors.at("kept").values(0);
  };
  EXPECT_EQ(parse("I64", std::uint64_t(1) << 53), 0x1p53);
  EXPECT_EQ(parse("I64", ~std::uint64_t(0)), -1.0);
  EXPECT_EQ(parse("I8", 0x80), -128.0);
  EXPECT_EQ(parse("U8", 0x80), 128.0);
  EXPECT_TRUE(refuses("CAS.C10", "kept", [&] { parse("I64", (std::uint64_t(1) << 53) + 1); }));
  EXPECT_TRUE(refuses("CAS.C10", "kept", [&] { parse("I64", std::uint64_t(1) << 63); }));
  EXPECT_TRUE(refuses("CAS.C10", "kept", [&] { parse("BOOL", 2); }));
}

CONSTRAINT(CAS_C10, a_value_is_written_in_a_dtype_that_holds_it) {
  const auto writes = [](Dtype dtype, double value) {
    return [=] { format_safetensors({{{"q", holding(dtype, {1}, {value})}}, {}}); };
  };
  EXPECT_TRUE(refuses("CAS.C10", "q", writes(Dtype::f32, 0.1)));
  EXPECT_TRUE(refuses("CAS.C10", "q", writes(Dtype::f8e4m3, std::numeric_limits<double>::infinity())));
  EXPECT_TRUE(refuses("CAS.C10", "q", writes(Dtype::i8, 128)));
  EXPECT_TRUE(refuses("CAS.C10", "q", writes(Dtype::i8, 0.5)));
  EXPECT_TRUE(refuses("CAS.C10", "q", writes(Dtype::i64, std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(refuses("CAS.C10", "q", writes(Dtype::boolean, 2)));
}

CONSTRAINT(CAS_C15, a_file_is_written_whole_or_not_at_all) {
  const Scratch scratch;
  const fs::path path = scratch.folder / "out.safetensors";
  write_whole(path, bytes_of("one"));
  write_whole(path, bytes_of("second"));
  EXPECT_EQ(read_whole(path), bytes_of("second"));
  fs::create_symlink(path, scratch.folder / "link");
  write_whole(scratch.folder / "link", bytes_of("third"));
  EXPECT_TRUE(fs::is_symlink(scratch.folder / "link"));
  EXPECT_EQ(read_whole(path), bytes_of("third"));
  EXPECT_TRUE(refuses("CAS.C15", scratch.folder.string(), [&] { write_whole(scratch.folder, bytes_of("x")); }));
  EXPECT_TRUE(refuses("CAS.C15", "none/out", [&] { write_whole(scratch.folder / "none" / "out", bytes_of("x")); }));
  EXPECT_TRUE(refuses("CAS.C15", "/dev/null", [&] { write_whole("/dev/null", bytes_of("x")); }));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.folder), fs::directory_iterator()), 2)
      << "a part is left over";
}

CONSTRAINT(CAS_C16, only_a_regular_file_is_read) {
  const Scratch scratch;
  EXPECT_TRUE(refuses("CAS.C16", "none", [&] { read_whole(scratch.folder / "none"); }));
  EXPECT_TRUE(refuses("CAS.C16", scratch.folder.string(), [&] { read_whole(scratch.folder); }));
  EXPECT_TRUE(refuses("CAS.C16", "/dev/zero", [] { read_whole("/dev/zero"); }));
  std::ofstream(scratch.folder / "empty").close();
  EXPECT_TRUE(read_whole(scratch.folder / "empty").empty());
}

TEST(safetensors_round_trip, every_dtype_shape_and_special_value_comes_back) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  Archive archive{{}, {{"schema", "attest-case-1"}, {"arithmetic", "\"quoted\" \\ \u00e4"}}};
  for (const Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f8e5m2}) {
    archive.tensors.emplace(name_of(dtype), holding(dtype, {2, 1, 3}, {-0.0, 0.0, nan, infinity, -infinity, -1.5}));
  }
  archive.tensors.emplace("F8_E4M3", holding(Dtype::f8e4m3, {4}, {-0.0, nan, 448, -0x1p-9}));
  archive.tensors.emplace("smallest", holding(Dtype::f64, {}, {0x1p-1074}));
  archive.tensors.emplace("I64", holding(Dtype::i64, {2}, {-0x1p53, 0x1p53}));
  archive.tensors.emplace("I32", holding(Dtype::i32, {2}, {-0x1p31, 0x1p31 - 1}));
  archive.tensors.emplace("I16", holding(Dtype::i16, {2}, {-32768, 32767}));
  archive.tensors.emplace("I8", holding(Dtype::i8, {2}, {-128, 127}));
  archive.tensors.emplace("U8", holding(Dtype::u8, {2}, {0, 255}));
  archive.tensors.emplace("BOOL", holding(Dtype::boolean, {2}, {0, 1}));
  archive.tensors.emplace("none", holding(Dtype::f16, {3, 0, 2}, {}));

  const std::vector<std::byte> file = format_safetensors(archive);
  const Archive back = parse_safetensors(file);
  EXPECT_EQ(back.metadata, archive.metadata);
  ASSERT_EQ(back.tensors.size(), archive.tensors.size());
  for (const auto& [name, array] : archive.tensors) {
    EXPECT_EQ(back.tensors.at(name).dtype, array.dtype) << name;
    EXPECT_TRUE(same_values(back.tensors.at(name).values, array.values)) << name;
  }
  EXPECT_EQ(format_safetensors(back), file);
}

TEST(safetensors_round_trip, an_archive_may_be_empty) {
  const Archive back = parse_safetensors(format_safetensors({}));
  EXPECT_TRUE(back.tensors.empty());
  EXPECT_TRUE(back.metadata.empty());
}

}  // namespace attest
