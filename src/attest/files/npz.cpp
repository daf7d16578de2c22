#include "attest/files/npz.hpp"

#include <zip.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "attest/files/array_files.hpp"

namespace attest {

namespace {

/// Deflate makes 258 bytes of 2 bits at best, so no honest member claims more than this, the block's frame aside.
constexpr std::uint64_t best_ratio = 1032;
/// What all members together may unpack to: a mask of one repeated value can be large and still pack to almost nothing.
constexpr std::uint64_t always_allowed = std::uint64_t(256) << 20;
constexpr std::uint64_t allowed_ratio = 32;

/// A zip library's error, which has to be released.
class ZipError {
 public:
  ZipError() { zip_error_init(&error_); }
  ~ZipError() { zip_error_fini(&error_); }
  ZipError(const ZipError&) = delete;
  ZipError& operator=(const ZipError&) = delete;
  zip_error_t* get() { return &error_; }
  std::string text() { return zip_error_strerror(&error_); }

 private:
  zip_error_t error_;
};

struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseMember {
  void operator()(zip_file_t* member) const { zip_fclose(member); }
};

std::uint64_t number_at(std::span<const std::byte> file, std::size_t at, std::size_t width) {
  std::uint64_t number = 0;
  for (std::size_t n = width; n-- > 0;) number = number << 8 | std::to_integer<std::uint64_t>(file[at + n]);
  return number;
}

bool has_mark(std::span<const std::byte> file, std::size_t at, std::string_view mark) {
  return at + mark.size() <= file.size() && std::memcmp(file.data() + at, mark.data(), mark.size()) == 0;
}

/// Where the directory should end: at its end record, or with large archives at the record before that.
std::optional<std::pair<std::size_t, std::uint64_t>> directory_end(std::span<const std::byte> file) {
  constexpr std::size_t record = 22, locator = 20, large_record = 56;
  if (file.size() < record || !has_mark(file, file.size() - record, "PK\5\6")) return std::nullopt;  // has a comment
  const std::size_t end = file.size() - record;
  const bool large = end >= locator && has_mark(file, end - locator, "PK\6\7");
  if (!large) return std::pair(end, number_at(file, end + 12, 4) + number_at(file, end + 16, 4));
  const std::uint64_t at = number_at(file, end - locator + 8, 8);
  if (at > end || end - at < large_record || !has_mark(file, at, "PK\6\6")) return std::nullopt;
  return std::pair(static_cast<std::size_t>(at), number_at(file, at + 40, 8) + number_at(file, at + 48, 8));
}

/// One archive after another in a file: programs differ in which of them they read, so it is no archive here.
void require_one_archive(std::span<const std::byte> file) {
  const auto end = directory_end(file);
  require(end && end->first == end->second, "CAS.C23",
          "zip: one archive that ends with the file, without a comment, got a directory that ends elsewhere");
}

/// An archive that is only read, from bytes that outlive it.
class ZipArchive {
 public:
  explicit ZipArchive(std::span<const std::byte> file) : file_bytes_(file.size()) {
    require(looks_like_zip(file), "CAS.C23", "zip: a sound archive, which begins with PK");
    ZipError error;
    zip_source_t* source = zip_source_buffer_create(file.data(), file.size(), 0, error.get());
    if (source == nullptr) throw std::bad_alloc();
    archive_.reset(zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, error.get()));
    if (!archive_) zip_source_free(source);  // an open archive owns it
    require(zip_error_code_zip(error.get()) != ZIP_ER_EXISTS, "CAS.C22", "zip: each name only once");
    require(archive_ != nullptr, "CAS.C23", "zip: a sound archive, got \"{}\"", error.text());
    require_one_archive(file);
    require_sizes();
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (std::size_t n = 0; n < count(); ++n) names.emplace_back(name(n));
    return names;
  }

  /// The content of a member. Its checksum is compared when the end is reached, so the end is read too.
  std::vector<std::byte> load(std::size_t n) const {
    const std::unique_ptr<zip_file_t, CloseMember> member(zip_fopen_index(archive_.get(), n, 0));
    require(member != nullptr, "CAS.C23", "{}: a member that can be read, got \"{}\"", label(n),
            zip_strerror(archive_.get()));
    std::vector<std::byte> content(claims(n).size);
    std::byte beyond;
    const bool whole = zip_fread(member.get(), content.data(), content.size()) == std::ssize(content) &&
                       zip_fread(member.get(), &beyond, 1) == 0;
    require(whole, "CAS.C23", "{}: {} sound bytes, got \"{}\"", label(n), content.size(),
            zip_file_strerror(member.get()));
    return content;
  }

 private:
  std::size_t file_bytes_;
  std::unique_ptr<zip_t, Discard> archive_;

  std::size_t count() const { return static_cast<std::size_t>(zip_get_num_entries(archive_.get(), 0)); }

  /// The bytes of the name, in whatever encoding.
  const char* name(std::size_t n) const {
    const char* found = zip_get_name(archive_.get(), n, ZIP_FL_ENC_RAW);
    require(found != nullptr, "CAS.C23", "zip: a name of member {}", n);
    return found;
  }

  std::string label(std::size_t n) const { return shown(name(n)); }

  /// What the directory says of a member.
  zip_stat_t claims(std::size_t n) const {
    zip_stat_t stat;
    const bool known = zip_stat_index(archive_.get(), n, 0, &stat) == 0;
    constexpr std::uint64_t needed =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    require(known && (stat.valid & needed) == needed, "CAS.C23", "{}: a member with sizes and a method", label(n));
    return stat;
  }

  /// Before anything is unpacked.
  void require_sizes() const {
    const std::uint64_t most = std::max(always_allowed, allowed_ratio * file_bytes_);
    std::uint64_t sum = 0;
    for (std::size_t n = 0; n < count(); ++n) {
      const zip_stat_t stat = claims(n);
      require(stat.encryption_method == ZIP_EM_NONE, "CAS.C23", "{}: a member that is not encrypted", label(n));
      require(stat.comp_method == ZIP_CM_STORE || stat.comp_method == ZIP_CM_DEFLATE, "CAS.C23",
              "{}: stored, or compressed by deflate, got method {}", label(n), stat.comp_method);
      const std::uint64_t ratio = stat.comp_method == ZIP_CM_STORE ? 1 : best_ratio;
      require(stat.comp_size <= file_bytes_ && stat.size <= ratio * stat.comp_size, "CAS.C24",
              "{}: at most {} times its {} packed bytes, got a claim of {}", label(n), ratio, stat.comp_size,
              stat.size);
      sum += stat.size;  // far from overflow: the sum so far is bounded, and so is the claim
      require(sum <= most, "CAS.C24", "zip: members that unpack to at most {} bytes, got {}", most, sum);
    }
  }
};

}  // namespace

bool looks_like_zip(std::span<const std::byte> file) {
  const auto begins = [&](std::string_view mark) {
    return file.size() >= mark.size() && std::memcmp(file.data(), mark.data(), mark.size()) == 0;
  };
  return begins("PK\3\4") || begins("PK\5\6");
}

Archive parse_npz(std::span<const std::byte> file) {
  const ZipArchive zip(file);
  return read_array_files({zip.names(), [&](std::size_t n) { return zip.load(n); }});
}

}  // namespace attest
