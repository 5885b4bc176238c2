#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/checkpoint/atomic_file.h"

namespace troupe::cli {

/// The files of a data set, which appear in their directory together or not at all: until
/// commit() they have other names, and without it they are removed.
///
/// Throws what the system says, in its words and with its code.
class DataFiles {
 public:
  /// Makes the directory and those above it, unless they are there.
  explicit DataFiles(std::string directory);

  /// A file to be written; the reference is good until commit().
  AtomicFile& add(const std::string& name);
  /// Returns the bytes of all files.
  std::uint64_t commit();

 private:
  std::string directory_;
  std::vector<std::unique_ptr<AtomicFile>> files_;
};

}  // namespace troupe::cli
