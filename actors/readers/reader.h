#pragma once

#include <caf/actor_addr.hpp>
#include <caf/error.hpp>
#include <caf/typed_response_promise.hpp>
#include <deque>
#include <memory>
#include <string>

#include "troupe/actors/readers/block_log.h"
#include "troupe/actors/readers/record_source.h"
#include "troupe/messages/data_state.h"
#include "troupe/messages/stage_clock.h"

namespace troupe {

struct ReaderOptions {
  BlockLimits limits{};
  std::size_t read_ahead = 2;  ///< blocks that are ready before somebody asks for them
};

/// The state of a reader actor.
struct ReaderState {
  static constexpr const char* name = "troupe.reader";
  using Promise = caf::typed_response_promise<RecordBlock>;

  /// Nobody waits for ever on a reader that is gone.
  ~ReaderState();

  struct Ready {
    RecordBlock block;
    SourcePosition begin;    ///< of its first record
    std::uint64_t file = 0;  ///< for a queue_reader: which one it comes from
  };

  std::shared_ptr<RecordSource> source;
  std::deque<Ready> ready;
  struct Waiting {
    Promise promise;
    caf::actor_addr client;
  };
  std::deque<Waiting> waiting;  // only while nothing is ready
  BlockLog log;                 // of what was handed out
  caf::error end;               // why no more blocks come
  std::uint64_t sequence = 0;   // of the next block that is read
  bool reading = false;         // a tick is on its way
  StageClock clock;

  // After a restore from a checkpoint.
  std::deque<ReadingState::Piece> again;  // to be read before anything else
  std::uint64_t rest = 0;                 // records of the first of them, once it has begun
  std::string then;                       // where to go on after the last of them
};

// What actors that are readers have in common.

/// Hands what is ready, or the end, to those who wait.
void answer_waiting(ReaderState& r);
/// Nothing is read any more, and whoever waits or asks is answered with cancelled.
void stop_reader(ReaderState& r);
/// invalid_argument for blocks that could not hold a record.
caf::error check_limits(const BlockLimits& limits);

/// Reads blocks of records ahead and hands them to whoever asks, in order.
///
/// Reading blocks its thread, so spawn it detached; the source belongs to it from
/// then on:
///
///   auto source = std::make_shared<TextLineSource>(options);
///   Reader reader = system.spawn<caf::detached>(record_reader, source, ReaderOptions{});
SavableReader::behavior_type record_reader(SavableReader::stateful_pointer<ReaderState> self,
                                           std::shared_ptr<RecordSource> source,
                                           ReaderOptions options);

}  // namespace troupe
