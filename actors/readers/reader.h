#pragma once

#include <caf/actor.hpp>
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
  /// A PieceDealer: nothing is read but what it deals out to the reader of this number.
  caf::actor dealer{};
  std::uint32_t number = 0;
};

/// Records of a ReadingState::Piece that goes to the end of the source's own piece.
inline constexpr std::uint64_t kRestOfPiece = ~std::uint64_t{0};

/// Deals out pieces of a source (RecordSource::pieces) to the readers that share them.
///   (take, reader) -> state   what it is to read next, in `again`; out_of_range when nothing is
///                             left for it
using PieceDealer = caf::typed_actor<caf::replies_to<take_atom, std::uint32_t>::with<ReadingState>>;

/// A reader that can share its records with others.
/// The position of a ReadingState is empty when nothing comes behind its pieces.
///   (join, dealer, number) -> state   it goes on to the end of the piece that it is in, and then
///                             gets others from a PieceDealer, as the reader of that number. In
///                             the state is where it would have gone on, which is in its piece;
///                             out_of_range when it has come to the end
///   (leave) -> state          it reads no more. In the state is what it has not handed out
///   (end)                     it quits: the queue has all that it has handed out
using SharingReader =
    SavableReader::extend<caf::replies_to<join_atom, caf::actor, std::uint32_t>::with<ReadingState>,
                          caf::replies_to<leave_atom>::with<ReadingState>,
                          caf::reacts_to<end_atom>>;

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
  bool only_again = false;                // nowhere

  // While the records are shared with other readers.
  caf::actor dealer;         // of what is read after `again`
  std::uint32_t number = 0;  // to it
  bool taking = false;       // it has been asked
};

// What actors that are readers have in common.

/// Hands what is ready, or the end, to those who wait.
void answer_waiting(ReaderState& r);
/// Nothing is read any more, and whoever waits or asks is answered with cancelled.
void stop_reader(ReaderState& r);
/// invalid_argument for blocks that could not hold a record.
caf::error check_limits(const BlockLimits& limits);

/// Reads blocks of records ahead and hands them to whoever asks, in order: all of them, or
/// pieces that are dealt out to it.
///
/// Reading blocks its thread, so spawn it detached; the source belongs to it from
/// then on:
///
///   auto source = std::make_shared<TextLineSource>(options);
///   Reader reader = system.spawn<caf::detached>(record_reader, source, ReaderOptions{});
SharingReader::behavior_type record_reader(SharingReader::stateful_pointer<ReaderState> self,
                                           std::shared_ptr<RecordSource> source,
                                           ReaderOptions options);

}  // namespace troupe
