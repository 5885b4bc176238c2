#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "troupe/actors/readers/file_policy.h"
#include "troupe/actors/readers/reader.h"

namespace troupe {

/// Makes a source of one file. It should allow that there is no record in it.
using FileOpener = std::function<std::unique_ptr<RecordSource>(const std::string& path)>;

struct QueueReaderOptions {
  BlockLimits limits{};
  std::size_t read_ahead = 2;            ///< blocks that are ready before somebody asks for them
  std::shared_ptr<FileReport> report{};  ///< of the files' policy; its words end the data
};

/// The state of a reader that gets its files from a queue.
struct QueueReaderState : ReaderState {
  static constexpr const char* name = "troupe.queue_reader";

  struct File {
    std::string name;
    SourcePosition position;  ///< no streams: the start
  };

  Queue queue;
  FileOpener open;
  std::deque<File> files;                      // to be read before the queue is asked
  std::uint64_t serial = 0;                    // of the file in progress, and the last one
  std::map<std::uint64_t, std::string> names;  // of that file, and of those with ready blocks
  bool asking = false;                         // the queue for a name
  caf::error queue_end;                        // why it gives out no more of them
};

/// A Reader of the files whose names a queue gives out, one name whenever a file is
/// needed: elements of one string. Any number of such readers share a queue.
///
/// The error of the queue is the error of the read: out_of_range with the queue's words
/// when it is closed and empty. An element that is no single string is an
/// invalid_argument, and a file that cannot be read fails as its source does.
///
/// A snapshot names the files whose records have not all been handed out, with the place
/// in the first one, and after a restore they come first: together with the names that are
/// in the queue at that moment, no record is lost and none comes twice. Restore the reader
/// before its queue has names again.
///
/// Reading blocks its thread, so spawn it detached.
Reader::behavior_type queue_reader(Reader::stateful_pointer<QueueReaderState> self, Queue queue,
                                   FileOpener open, QueueReaderOptions options);

}  // namespace troupe
