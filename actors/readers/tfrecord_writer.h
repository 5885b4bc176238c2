#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "troupe/actors/readers/input_file.h"

namespace troupe {

class Deflater;

/// Writes a TFRecord file.
///
///   TFRecordWriter writer("train.tfrecord.gz");
///   for (const auto& example : examples) writer.write(example.bytes());
///   writer.close();
///
/// Throws as system_error() does.
class TFRecordWriter {
 public:
  /// Replaces a file that is there.
  explicit TFRecordWriter(std::string path, Compression compression = Compression::automatic);
  /// Closes the file without a word when that fails: call close() to hear of it.
  ~TFRecordWriter();
  TFRecordWriter(const TFRecordWriter&) = delete;
  TFRecordWriter& operator=(const TFRecordWriter&) = delete;

  void write(std::string_view record);
  /// Everything is with the system, and nothing can be written any more.
  void close();

 private:
  void flush(bool last);
  void write_through(std::string_view bytes);

  std::string path_;
  int file_ = -1;
  std::string buffer_;
  std::unique_ptr<Deflater> deflater_;
};

}  // namespace troupe
