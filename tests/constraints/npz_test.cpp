#include "attest/files/npz.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "attest/files/archive.hpp"
#include "attest/files/array_files.hpp"
#include "attest/files/case.hpp"
#include "attest/files/npy.hpp"
#include "attest/files/whole_file.hpp"
#include "support/case_archives.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"
#include "support/spec_tests.hpp"
#include "support/zip_files.hpp"

namespace attest {

namespace {

namespace fs = std::filesystem;

const std::string keys = R"({"schema": "attest-case-1", "convention": "attest"})";

std::string npy_of(const Array& array) {
  const std::vector<std::byte> file = format_npy(array, "array");
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

const std::string three_bytes = npy_of(holding(Dtype::i8, {3}, {1, 2, 3}));

/// The members of the small case.
std::vector<ZipMember> small_members() {
  std::vector<ZipMember> members{{"case.json", keys}};
  for (const auto& [name, array] : small_case().tensors) members.push_back({name + ".npy", npy_of(array)});
  return members;
}

testing::AssertionResult refuses_npz(const std::string& id, const std::string& field,
                                     const std::vector<ZipMember>& members) {
  return refuses(id, field, [&] { parse_npz(zip_of(members)); });
}

void write_file(const fs::path& path, const std::string& content) { std::ofstream(path) << content; }

/// The small case as a folder.
fs::path small_folder(const Scratch& scratch) {
  for (const ZipMember& member : small_members()) write_file(scratch.folder / member.name, member.content);
  return scratch.folder;
}

}  // namespace

CONSTRAINT(CAS_C19, a_declared_array_is_there) {
  const auto declares = [](const std::string& name) {
    return std::vector<ZipMember>{{"case.json", "{\"dtypes\": {\"" + name + "\": \"F8_E5M2\"}}"},
                                  {"q.npy", three_bytes}};
  };
  EXPECT_EQ(parse_npz(zip_of(declares("q"))).tensors.at("q").dtype, Dtype::f8e5m2);
  EXPECT_TRUE(refuses_npz("CAS.C19", "dtypes.k", declares("k")));
  EXPECT_TRUE(refuses_npz("CAS.C19", "dtypes.case", declares("case")));
}

CONSTRAINT(CAS_C22, a_file_has_a_plain_name_of_a_case) {
  for (const char* name :
       {"q", ".npy", "q.NPY", "q.npz", "case.JSON", "README.md", "", "q.npy/", "dir/", "/q.npy", "/etc/q.npy",
        "../q.npy", "a/../q.npy", "a/q.npy", "..\\q.npy", "C:q.npy", "\x1b[31m.npy", "q\n.npy", "a/case.json"}) {
    EXPECT_TRUE(refuses_npz("CAS.C22", "without a path", {{name, three_bytes}})) << name;
  }
  EXPECT_TRUE(refuses_npz("CAS.C23", "q?.npy", {{.name = "q\n.npy", .content = three_bytes, .flags = 1}}))
      << "a bad member is named before names are looked at";
  EXPECT_TRUE(refuses_npz("CAS.C22", "without a path", {{std::string(1021, 'q') + ".npy", three_bytes}}));
}

CONSTRAINT(CAS_C22, a_file_is_there_once) {
  EXPECT_TRUE(refuses_npz("CAS.C22", "only once", {{"q.npy", three_bytes}, {"q.npy", three_bytes}}));
  EXPECT_TRUE(refuses_npz("CAS.C22", "only once", {{"case.json", keys}, {"case.json", keys}}));
  const auto load = [](std::size_t) { return std::vector<std::byte>(); };
  EXPECT_TRUE(refuses("CAS.C22", "q.npy", [&] { read_array_files({{"q.npy", "k.npy", "q.npy"}, load}); }));
  EXPECT_TRUE(refuses_npz("CAS.C22", "case.json", {{"case.json", keys}, {"case.npy", three_bytes}}));
  std::vector<ZipMember> many;
  for (int n = 0; n <= 1024; ++n) many.push_back({std::to_string(n) + ".npy", three_bytes});
  EXPECT_TRUE(refuses_npz("CAS.C22", "1025", many));
  many.pop_back();
  EXPECT_EQ(parse_npz(zip_of(many)).tensors.size(), 1024u);
}

CONSTRAINT(CAS_C22, a_folder_holds_nothing_else) {
  const Scratch scratch;
  const fs::path folder = small_folder(scratch);
  EXPECT_EQ(refusal_of([&] { read_case(folder); }), "");
  write_file(folder / "visible.npz", "");
  EXPECT_TRUE(refuses("CAS.C22", "visible.npz", [&] { read_case(folder); }));
  fs::remove(folder / "visible.npz");
  fs::create_directory(folder / "bias.npy");
  EXPECT_TRUE(refuses("CAS.C16", "bias.npy", [&] { read_case(folder); }));
}

CONSTRAINT(CAS_C23, an_archive_is_sound) {
  const std::vector<std::byte> whole = zip_of(small_members());
  EXPECT_EQ(refusal_of([&] { parse_npz(whole); }), "");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(refuses("CAS.C23", "zip", [&] { parse_npz(std::span(whole).first(size)); })) << size;
  }
  std::vector<std::byte> followed = whole;
  followed.push_back(std::byte(0));
  EXPECT_TRUE(refuses("CAS.C23", "zip", [&] { parse_npz(followed); }));
  EXPECT_TRUE(parse_npz(zip_of({})).tensors.empty());
}

CONSTRAINT(CAS_C23, a_changed_byte_of_a_member_is_seen) {
  std::vector<std::byte> file = zip_of({{"q.npy", three_bytes}});
  const std::size_t begin = 30 + std::string("q.npy").size();
  for (std::size_t n = 0; n < three_bytes.size(); ++n) {
    file[begin + n] ^= std::byte(1);
    EXPECT_TRUE(refuses("CAS.C23", "q.npy", [&] { parse_npz(file); })) << n;
    file[begin + n] ^= std::byte(1);
  }
  EXPECT_TRUE(refuses_npz("CAS.C23", "q.npy", {{.name = "q.npy", .content = three_bytes, .checksum_error = 1}}));
}

CONSTRAINT(CAS_C23, members_are_neither_encrypted_nor_packed_in_other_ways) {
  EXPECT_TRUE(refuses_npz("CAS.C23", "not encrypted", {{.name = "q.npy", .content = three_bytes, .flags = 1}}));
  for (const std::uint16_t method : {1, 9, 12, 14, 93, 95}) {
    EXPECT_TRUE(refuses_npz("CAS.C23", "q.npy", {{.name = "q.npy", .content = three_bytes, .method = method}}))
        << method;
  }
}

CONSTRAINT(CAS_C24, a_member_claims_no_more_than_its_packed_bytes_can_hold) {
  const auto deflated = [](std::uint32_t size_error) {
    return ZipMember{.name = "q.npy", .content = "12345678", .method = 8, .size_error = size_error};
  };
  EXPECT_TRUE(refuses_npz("CAS.C23", "q.npy", {deflated(1032 * 8 - 8)}));  // a possible claim, and no deflate
  EXPECT_TRUE(refuses_npz("CAS.C24", "q.npy", {deflated(1032 * 8 - 7)}));
  EXPECT_TRUE(refuses_npz("CAS.C24", "q.npy", {deflated(0xfffffff0)}));
  EXPECT_TRUE(refuses_npz("CAS.C24", "q.npy", {{.name = "q.npy", .content = three_bytes, .size_error = 1}}));
}

CONSTRAINT(CAS_C24, all_members_together_unpack_to_a_bounded_size) {
  // 300 members that each claim one MiB for one KiB; none of them is unpacked
  std::vector<ZipMember> members;
  for (int n = 0; n < 300; ++n) {
    members.push_back({.name = std::to_string(n) + ".npy",
                       .content = std::string(1024, '\0'),
                       .method = 8,
                       .size_error = 1023 * 1024});
  }
  EXPECT_TRUE(refuses_npz("CAS.C24", "zip", members));
}

TEST(npz_reading, an_archive_and_a_folder_are_the_case_they_hold) {
  const Scratch scratch;
  const Archive from_zip = parse_npz(zip_of(small_members()));
  const Archive from_folder = read_archive(small_folder(scratch));
  for (const Archive& read : {from_zip, from_folder}) {
    EXPECT_EQ(read.metadata, small_case().metadata);
    ASSERT_EQ(read.tensors.size(), small_case().tensors.size());
    for (const auto& [name, array] : small_case().tensors) {
      EXPECT_EQ(read.tensors.at(name).dtype, array.dtype) << name;
      EXPECT_TRUE(same_values(read.tensors.at(name).values, array.values)) << name;
    }
  }
}

TEST(npz_reading, keys_may_be_an_array_of_text) {
  const std::string text = "{'descr': '|S" + std::to_string(keys.size()) + "', 'fortran_order': False, 'shape': ()}";
  const std::string array = std::string("\x93NUMPY\1\0", 8) + little_endian(2, {text.size()}) + text + keys;
  EXPECT_EQ(parse_npz(zip_of({{"case.npy", array}})).metadata, small_case().metadata);
}

CONSTRAINT(CAS_C15, a_file_of_the_folder_that_is_read_is_not_overwritten) {
  const Scratch scratch;
  const fs::path folder = small_folder(scratch);
  EXPECT_TRUE(refuses("CAS.C15", "q.npy", [&] { require_writable(folder / "q.npy", folder); }));
  EXPECT_EQ(refusal_of([&] { require_writable(folder.string() + ".safetensors", folder); }), "");
}

}  // namespace attest
