#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "troupe/actors/readers/file_policy.h"
#include "troupe/actors/readers/record_source.h"

namespace troupe {

/// The records of one file of some format, from its beginning to its end.
class RecordFile {
 public:
  virtual ~RecordFile() = default;

  /// Fills an empty run with the next records, at least one; false at the end of the
  /// file. Records in front of damage come first: only the next read throws.
  virtual bool read(RecordRun& run, const BlockLimits& limits) = 0;

  /// Offset and number of the record with which the next read goes on.
  virtual StreamPosition position() const = 0;
};

/// Opens a file at such a position; {} is the start.
using RecordFileOpener =
    std::function<std::unique_ptr<RecordFile>(const std::string& path, const StreamPosition& at)>;

struct FilesOptions {
  std::vector<std::string> files{};  ///< paths and patterns: "train-*.rec"; "-" is standard input
  bool allow_empty = false;          ///< no record at all is not an error
  FilePolicy policy{};
};

/// The records of several files, one file after the other: what all formats have in
/// common. A format brings a RecordFile.
///
/// Throws the errors of expand_files at once. Reading throws those of the files as
/// the policy says, and invalid_argument when all files together have no record.
class FilesSource : public RecordSource {
 public:
  /// `noun` is what the records are: "lines".
  FilesSource(FilesOptions options, std::string noun, RecordFileOpener open);

  bool read(std::vector<RecordRun>& streams, const BlockLimits& limits) override;
  SourcePosition position() const override;
  void seek(const SourcePosition& position) override;
  void restart(std::span<const std::size_t> order) override;
  std::size_t file_count() const override { return files_.size(); }
  std::size_t stream_count() const override { return 1; }
  /// One for each file.
  std::uint64_t pieces() const override { return files_.size(); }
  SourcePosition piece(std::uint64_t number) const override { return {0, {{.file = number}}}; }
  std::uint64_t piece_of(const SourcePosition& position) const override;
  std::string describe() const override;
  std::string report() const override { return options_.policy.report->words(); }

 protected:
  /// Looks at one file after the other. What that throws is handled as the policy says.
  void for_each_file(const std::function<void(const std::string& path)>& look) const;

 private:
  const std::string& path() const { return files_[order_[file_index_]]; }
  void open_file(const StreamPosition& at);
  bool read_file(RecordRun& run, const BlockLimits& limits);
  void next_file();

  FilesOptions options_;
  std::string noun_;
  RecordFileOpener open_;
  std::vector<std::string> files_;
  std::vector<std::size_t> order_;

  std::size_t file_index_ = 0;
  std::unique_ptr<RecordFile> file_;
  bool file_has_records_ = false;
  bool any_ = false;  // whether there was a record since the start
  bool standard_input_used_ = false;
  std::exception_ptr failure_;  // of a file, for the next read
};

}  // namespace troupe
