#pragma once

#include <caf/error.hpp>
#include <caf/typed_response_promise.hpp>
#include <cstdint>
#include <memory>
#include <optional>

#include "troupe/actors/decoders/tuple_decoder.h"
#include "troupe/messages/protocol.h"
#include "troupe/messages/stage_clock.h"

namespace troupe {

/// A decoder that can leave while others go on.
///   (leave) -> ok   asks for no more blocks; once the queue has what it has, it detaches, as at
///   the
///                   end of the data, and quits; the failure, if one has cut it off before that
using LeavingDecoder = Decoder::extend<caf::replies_to<leave_atom>::with<caf::ok_atom>>;

/// The state of a decoder actor.
struct DecoderState {
  static constexpr const char* name = "troupe.decoder";

  DecoderState() = default;  // not an aggregate: CAF would fill it with the actor
  /// Whoever started a decoder learns that it is gone.
  ~DecoderState();

  Reader reader;
  Queue queue;
  std::shared_ptr<TupleDecoder> decoder;

  caf::typed_response_promise<std::uint64_t> started;
  StageClock clock;
  std::uint64_t records = 0;         // in the queue
  std::uint64_t bytes = 0;           // of the records of the block on its way into the queue
  bool running = false;              // between (start) and its answer
  bool enqueuing = false;            // a block is on its way into the queue
  bool asking = false;               // for the next block
  std::optional<RecordBlock> ahead;  // the next block, while the one before is enqueued
  bool last_block = false;           // which is on its way into the queue ends with a failure
  caf::error end;                    // no more blocks are to come, for this reason
  bool leaves = false;               // it asks for none any more
  caf::typed_response_promise<caf::ok_atom> left;
};

/// Pulls blocks of records from a reader, decodes them and puts the elements into
/// a queue, of which it is a producer while it runs. At most one block is ahead:
/// while a block waits for room in the queue, the next one is fetched, but not
/// decoded. Several decoders may share a reader and a queue; each needs a
/// TupleDecoder of its own.
///
/// A failure closes the queue with its words. A queue that is closed by somebody
/// else ends the decoder with cancelled.
LeavingDecoder::behavior_type decoder(LeavingDecoder::stateful_pointer<DecoderState> self,
                                      Reader reader, Queue queue,
                                      std::shared_ptr<TupleDecoder> tuple);

}  // namespace troupe
