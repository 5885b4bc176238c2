#pragma once

#include <algorithm>
#include <memory>

#include "troupe/actors/readers/array_format.h"
#include "troupe/actors/readers/files_source.h"

namespace troupe {

/// The items of arrays along their first axis, one file after the other. A record is an
/// item, with the bytes of its values in the order of this machine. Items are numbered
/// from 1 in each file.
///
///   ArraySource source({.files = {"images.gz"}}, idx_format());
///
/// The constructor reads the header of each file. It throws what the format does, as the
/// policy says, and invalid_argument when the items of two files differ in dtype or shape.
/// Reading throws, as the policy says, data_loss with the file and the byte when the data
/// end early or are damaged, and when a file has other items than before.
class ArraySource : public FilesSource {
 public:
  ArraySource(const FilesOptions& options, const ArrayFormat& format);

  /// Dtype and shape of the items; `count` is that of all files together.
  const ArrayHeader& header() const { return *header_; }

  std::uint64_t block_bytes(const BlockLimits& limits) const override {
    const auto item = header_->item_bytes();
    return std::max(item, std::min<std::uint64_t>(limits.bytes, limits.records * item));
  }

 private:
  ArraySource(const FilesOptions& options, const ArrayFormat& format,
              std::shared_ptr<ArrayHeader> header);

  std::shared_ptr<ArrayHeader> header_;
};

}  // namespace troupe
