#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "troupe/messages/payloads.h"
#include "troupe/ops/error.h"
#include "troupe/queues/queue_core.h"

namespace troupe {

/// Turns records of one stream into tensors. Derive from it to decode a format of
/// your own. Used by one actor at a time.
class RecordDecoder {
 public:
  virtual ~RecordDecoder() = default;

  /// What decode appends to an element.
  virtual std::vector<QueueComponent> components() const = 0;

  /// Appends the tensors of record i of the run. For a record that is not what it
  /// should be, throws an Error that starts with run.place(i); any other std::exception
  /// gets that in front.
  virtual void decode(const RecordRun& run, std::size_t i, Element& element) = 0;

  /// Is told which record is bad, and why. Throws unless it may be left out.
  using Refuse = std::function<void(std::size_t i, const Error& error)>;

  /// Appends the tensors of each record i of the run to elements[i]; what a bad
  /// record leaves there does not matter. Calls decode for each of them: override
  /// it where many records are cheaper together.
  virtual void decode_run(const RecordRun& run, std::span<Element> elements, const Refuse& refuse);
};

}  // namespace troupe
