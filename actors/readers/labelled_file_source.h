#pragma once

#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/readers/file_policy.h"
#include "troupe/actors/readers/labelled_files.h"
#include "troupe/actors/readers/record_source.h"

namespace troupe {

struct LabelledFileOptions {
  std::shared_ptr<const LabelledFiles> files;
  std::size_t max_file_bytes = std::size_t{64} << 20;  ///< of one file
  bool allow_empty = false;                            ///< no record at all is not an error
  /// A file that is to hold one record and has no byte is a failure, unless this says
  /// otherwise. What is left out loses its label, too.
  FilePolicy policy{.empty = FileAction::fail};
};

/// Files of one record each, with their labels: stream 0 has the bytes of a file, stream
/// 1 the text of its label. The order of an epoch is that of the files: see
/// RepeatOptions::shuffle_files.
///
/// A record's place is the path of its file, and for a label the line of the list. Of a
/// file that a list names again the second record is number 2, and so on.
///
/// Reading throws, as the policy says, not_found or permission_denied for a file that cannot
/// be read, data_loss for an empty one and when its size changes meanwhile, and
/// resource_exhausted above max_file_bytes; and invalid_argument when nothing is left.
/// Records in front of what throws come first.
class LabelledFileSource : public RecordSource {
 public:
  /// Throws invalid_argument without files.
  explicit LabelledFileSource(LabelledFileOptions options);

  bool read(std::vector<RecordRun>& streams, const BlockLimits& limits) override;
  SourcePosition position() const override;
  /// Throws invalid_argument for a position behind the last file.
  void seek(const SourcePosition& position) override;
  void restart(std::span<const std::size_t> order) override;
  std::size_t file_count() const override { return options_.files->files.size(); }
  std::size_t stream_count() const override { return 2; }
  std::string describe() const override { return options_.files->description; }
  std::string report() const override { return options_.policy.report->words(); }

 private:
  struct Planned {
    std::size_t file = 0;  // position in order_
    std::size_t bytes = 0;
  };
  /// Files that are there, from next_ on, as many as a block may hold.
  std::vector<Planned> plan(const BlockLimits& limits);
  bool read_planned(const std::vector<Planned>& files, std::vector<RecordRun>& streams);
  /// Does with a file as the policy says: throws, unless records come first. Whether the
  /// file is left out.
  bool leave_out(std::size_t i, const Error& error, bool records_first) const;

  const LabelledFile& file(std::size_t i) const { return options_.files->files[order_[i]]; }
  std::size_t size_of_file(std::size_t i) const;
  void read_file(std::size_t i, char* to, std::size_t bytes) const;

  LabelledFileOptions options_;
  std::vector<std::int64_t> mentions_;  // of each file: 0, or the how-manieth it is of its path
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;  // position in order_
  bool any_ = false;      // whether there was a record since the start
};

}  // namespace troupe
