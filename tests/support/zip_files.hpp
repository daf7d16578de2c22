#pragma once
/// Zip archives by hand: members stored as they are, without compression, and every field at a known place.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attest {

/// A member, and what the archive claims of it.
struct ZipMember {
  std::string name;
  std::string content;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;          ///< stored
  std::uint32_t checksum_error = 0;  ///< added to the checksum that is due
  std::uint32_t size_error = 0;      ///< added to the size before packing
};

/// The checksum of zip: the remainder of the bits, lowest first, by the polynomial 0x04c11db7.
inline std::uint32_t checksum(const std::string& content) {
  std::uint32_t remainder = ~std::uint32_t(0);
  for (const char c : content) {
    remainder ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) remainder = remainder >> 1 ^ (remainder & 1 ? 0xedb88320 : 0);
  }
  return ~remainder;
}

/// Numbers of `width` bytes, little endian, one after the other.
inline std::string little_endian(std::size_t width, std::initializer_list<std::size_t> numbers) {
  std::string bytes;
  for (const std::size_t number : numbers) {
    for (std::size_t n = 0; n < width; ++n) bytes += static_cast<char>(number >> 8 * n & 0xff);
  }
  return bytes;
}

/// The fields that a member's own header and its entry in the directory have in common.
inline std::string zip_fields(const ZipMember& member) {
  const std::size_t size = member.content.size();
  return little_endian(2, {20, member.flags, member.method, 0, 0x21}) +
         little_endian(4, {checksum(member.content) + member.checksum_error, size, size + member.size_error}) +
         little_endian(2, {member.name.size(), 0});
}

inline std::vector<std::byte> zip_of(const std::vector<ZipMember>& members) {
  std::string file, directory;
  for (const ZipMember& member : members) {
    directory += "PK\1\2" + little_endian(2, {20}) + zip_fields(member) + little_endian(2, {0, 0, 0}) +
                 little_endian(4, {0, file.size()}) + member.name;
    file += "PK\3\4" + zip_fields(member) + member.name + member.content;
  }
  const std::size_t begin = file.size(), count = members.size();
  file += directory + "PK\5\6" + little_endian(2, {0, 0, count, count}) + little_endian(4, {directory.size(), begin}) +
          little_endian(2, {0});
  std::vector<std::byte> bytes;
  for (const char c : file) bytes.push_back(static_cast<std::byte>(c));
  return bytes;
}

}  // namespace attest
