#pragma once

#include <caf/error.hpp>
#include <caf/typed_response_promise.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "troupe/messages/protocol.h"
#include "troupe/messages/stage_clock.h"

namespace troupe {

struct ProducerOptions {
  static constexpr std::int64_t kForever = -1;

  std::int64_t epochs = kForever;  ///< how often everything is given out, or kForever
  bool shuffle = false;            ///< each epoch in another order
  std::uint64_t seed = 0;          ///< of those orders: the same seed, the same orders
  std::string position{};          ///< where to begin: that of a snapshot; "" for the beginning
};

/// What a producer gives out in each epoch.
struct ProducedElements {
  std::int64_t count = 0;
  std::function<Element(std::int64_t)> element;  ///< makes number i of them
  std::string description;                       ///< "2 files (a.txt, b.txt)", for messages
};

/// The state of a producer actor.
struct ProducerState {
  static constexpr const char* name = "troupe.producer";

  ProducerState() = default;  // not an aggregate: CAF would fill it with the actor
  /// Whoever started a producer learns that it is gone.
  ~ProducerState();

  Queue queue;
  ProducerOptions options;
  std::function<ProducedElements()> open;

  ProducedElements what;           // once it has been opened
  std::vector<std::size_t> order;  // of this epoch, when it is shuffled
  std::uint64_t epoch = 0;
  std::int64_t next = 0;          // in this epoch
  std::uint64_t first_epoch = 0;  // with which it began
  std::int64_t first = 0;         // in that epoch

  caf::typed_response_promise<std::uint64_t> started;
  StageClock clock;
  std::uint64_t produced = 0;    // elements that the queue has taken
  std::uint64_t on_the_way = 0;  // elements of the block that it is taking
  bool begun = false;            // started, or stopped before that
  bool running = false;          // between (start) and its answer
  bool enqueuing = false;        // a block is on its way into the queue
  caf::error end;                // no more elements are to come, for this reason
};

// Producers feed a queue, of which they are a producer while they run, as fast as it takes
// the elements. They close it with the end of the data after the last epoch, or with what
// went wrong. A queue that is closed by somebody else ends them with cancelled.
//
// A snapshot is the place of the first element that nobody has taken out of the queue, also
// after the end. Together with the snapshots of those who read from the queue no element is
// lost and none comes twice, if the queue itself is a new, empty one. The queue must give out
// elements in their order, and have no other producer. A producer is restored before it is
// started, with the same epochs, shuffle and seed, and elements that are as many.

/// Gives out the names of files as string scalars: of a list of paths and patterns, as
/// expand_files() has it. Patterns are looked up once, when it is started.
///
/// (start) answers with the errors of expand_files, and with invalid_argument for less than
/// one epoch. So does the queue.
Producer::behavior_type file_name_producer(Producer::stateful_pointer<ProducerState> self,
                                           Queue queue, std::vector<std::string> files,
                                           ProducerOptions options);

/// Gives out 0 to limit - 1 as int64 scalars. (start) answers with invalid_argument for a
/// limit below 1.
Producer::behavior_type range_producer(Producer::stateful_pointer<ProducerState> self, Queue queue,
                                       std::int64_t limit, ProducerOptions options);

/// Gives out the rows of tensors: element i has row i of each, shared and not copied.
/// (start) answers with invalid_argument for scalars, and when the tensors have no rows or
/// different numbers of them.
Producer::behavior_type slice_producer(Producer::stateful_pointer<ProducerState> self, Queue queue,
                                       TensorList tensors, ProducerOptions options);

}  // namespace troupe
