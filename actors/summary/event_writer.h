#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "troupe/actors/summary/histogram.h"

namespace troupe {

struct EventWriterOptions {
  std::chrono::milliseconds flush_every{5000};  ///< how old an event may be that is not in the file
  std::size_t buffer = 1 << 16;                 ///< bytes that are kept back at most
  /// The time of events; another one for tests.
  std::function<std::chrono::system_clock::time_point()> now = std::chrono::system_clock::now;
};

/// Writes a file of events that TensorBoard shows: `tensorboard --logdir DIR`.
/// The file is called events.out.tfevents.<seconds>.<host> and holds TFRecords of
/// messages/proto/event.proto. Not for use from several threads at once.
///
/// Throws as system_error() does when the system refuses.
class EventWriter {
 public:
  /// Makes the directory if it does not exist, and a file of its own in it.
  explicit EventWriter(const std::string& directory, EventWriterOptions options = {});
  /// Flushes; what cannot be written then is lost without a word, so flush() first.
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  const std::string& path() const { return path_; }

  /// One point of the curve `tag`, such as "train/loss": the part before the slash
  /// groups charts.
  void scalar(const std::string& tag, std::int64_t step, double value);
  void histogram(const std::string& tag, std::int64_t step, const Histogram& values);
  /// Markdown.
  void text(const std::string& tag, std::int64_t step, const std::string& text);

  /// Hands everything to the system.
  void flush();

 private:
  template <class Event>
  void write(Event& event);

  EventWriterOptions options_;
  std::string path_;
  int file_ = -1;
  std::string buffer_;
  std::chrono::system_clock::time_point flushed_;
};

}  // namespace troupe
