#include "attest/files/whole_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "attest/scalar/error.hpp"

namespace attest {

namespace fs = std::filesystem;

namespace {

constexpr std::uintmax_t largest_file = std::uintmax_t(16) << 30;

/// A name beside `path` that no other process or thread uses.
fs::path neighbour(const fs::path& path) {
  static std::atomic<unsigned> count{0};
  return path.string() + "." + std::to_string(getpid()) + "-" + std::to_string(count++) + ".part";
}

/// A file being written, which vanishes again unless it is renamed to what it is meant to be.
class PartFile {
 public:
  explicit PartFile(fs::path target)
      : target_(std::move(target)),
        part_(neighbour(target_)),
        descriptor_(open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
    require_done(descriptor_ >= 0);
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile() {
    if (descriptor_ >= 0) close(descriptor_);
    if (!part_.empty()) unlink(part_.c_str());
  }

  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      require_done(written > 0);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
  }

  void finish() {
    require_done(fsync(descriptor_) == 0);
    require_done(rename(part_.c_str(), target_.c_str()) == 0);
    part_.clear();
  }

 private:
  fs::path target_;
  fs::path part_;
  int descriptor_;

  void require_done(bool done) const {
    require(done, "CAS.C15", "{}: a path that can be written, got {}", target_.string(), std::strerror(errno));
  }
};

/// Where a write to `path` ends up: a link stays a link. A device or pipe must not be replaced by a file.
fs::path target_of(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  require(!fs::exists(status) || fs::is_regular_file(status), "CAS.C15", "{}: a regular file, or none yet",
          path.string());
  return fs::exists(status) ? fs::canonical(path) : path;
}

/// Whether a write to `path` would change what is read: the same file, or one in the folder that is read, there or
/// not: a further file may belong to no case.
bool is_part_of(const fs::path& path, const fs::path& read) {
  std::error_code error;
  if (fs::equivalent(path, read, error)) return true;
  if (!fs::is_directory(read, error)) return false;
  const fs::path inner = fs::weakly_canonical(path, error).lexically_relative(fs::canonical(read, error));
  return !inner.empty() && *inner.begin() != "..";
}

}  // namespace

std::vector<std::byte> read_whole(const fs::path& path) {
  std::error_code error;
  require(fs::exists(path, error), "CAS.C16", "{}: a file that is there", path.string());
  const bool regular = fs::is_regular_file(path, error);
  require(regular, "CAS.C16", "{}: a regular file that can be read", path.string());
  const std::uintmax_t size = fs::file_size(path, error);
  require(!error && size <= largest_file, "CAS.C16", "{}: at most 16 GiB", path.string());
  std::vector<std::byte> bytes(size);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  require(file.good() && file.peek() == std::char_traits<char>::eof(), "CAS.C16",
          "{}: a regular file that can be read, whole", path.string());
  return bytes;
}

void require_writable(const fs::path& path, const fs::path& read) {
  require(!is_part_of(path, read), "CAS.C15", "{}: another file than the one that is read", path.string());
  const PartFile vanishes(target_of(path));
}

void write_whole(const fs::path& path, std::span<const std::byte> bytes) {
  PartFile file(target_of(path));
  file.write(bytes);
  file.finish();
}

}  // namespace attest
