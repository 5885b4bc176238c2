#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace troupe {

/// What decides the course of an asynchronous run, apart from what is computed: one thing that
/// happened at the coordinator or at the feeder.
struct RecordedEvent {
  enum class Kind : std::uint32_t {
    joined = 1,  ///< a replica
    set = 2,     ///< a whole gradient set of a replica, of that step of it
    left = 3,    ///< a replica
    norm = 4,    ///< of an update is known everywhere
    batch = 5,   ///< of that number is for that replica
    lost = 6,    ///< a replica has died, which cannot be repeated
    end = 7,     ///< the recording is whole; `number` events came before
  };
  Kind kind = Kind::end;
  std::uint32_t replica = 0;
  std::uint64_t number = 0;
  friend auto operator<=>(const RecordedEvent&, const RecordedEvent&) = default;
};

/// Throws already_exists when the directory has a recording, which another one would overwrite.
void expect_no_recording_in(const std::string& directory);

/// Appends events to a file, each with a checksum. The first line says which run it is.
/// Throws as system_error() does.
class RunRecorder {
 public:
  RunRecorder(const std::string& path, const std::string& run);
  /// Writes the end; a process that is killed leaves a recording without.
  ~RunRecorder();
  void append(const RecordedEvent& event);

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::uint64_t count_ = 0;
};

/// The events of a recording. Throws not_found; data_loss when it is damaged or has no end;
/// failed_precondition when it is of another run than `run`, or a replica was lost in it.
std::vector<RecordedEvent> read_recording(const std::string& path, const std::string& run);

/// Has things happen in the order of a recording, as they come, or as they come and records it.
class EventOrder {
 public:
  EventOrder() = default;
  void record(const std::string& path, const std::string& run);
  void replay(const std::string& path, const std::string& run);

  /// Does the work now, or, when other things are to happen before it, after these. Throws
  /// failed_precondition for what does not happen in the recording any more.
  void happen(const RecordedEvent& event, std::function<void()> work);
  bool records() const { return recorder_ != nullptr; }
  bool replays() const { return replays_; }

 private:
  std::shared_ptr<RunRecorder> recorder_;
  bool replays_ = false;
  bool busy_ = false;
  std::vector<RecordedEvent> events_;
  std::size_t next_ = 0;
  std::map<RecordedEvent, std::size_t> left_;  // how often each is still to happen
  std::multimap<RecordedEvent, std::function<void()>> waiting_;
};

}  // namespace troupe
