#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// A file that appears under its name complete or not at all. Bytes go to
/// `path`.tmp through a buffer; commit() syncs it to disk and renames it.
/// Without commit() the destructor removes it.
///
/// Throws as system_error() does.
class AtomicFile {
 public:
  static constexpr std::string_view kSuffix = ".tmp";

  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* data, std::size_t size);
  void write(std::string_view bytes) { write(bytes.data(), bytes.size()); }
  std::uint64_t bytes() const { return bytes_; }  ///< written so far

  /// The rename itself is safe on disk only after sync_directory().
  void commit();

 private:
  void flush();
  void write_through(const char* data, std::size_t size);

  std::string path_;
  std::string temporary_;
  int file_ = -1;
  std::uint64_t bytes_ = 0;
  std::string buffer_;
};

/// Makes names that were created, renamed or removed in a directory permanent.
void sync_directory(const std::string& directory);

}  // namespace troupe
