// What a queue keeps for a checkpoint, and how it goes on from one.
#include <utility>

#include "troupe/messages/answer.h"
#include "troupe/queues/queue_core.h"
#include "troupe/queues/stack_elements.h"

namespace troupe {

void QueueCore::note_receipt(const ElementBlock& block) {
  constexpr std::uint32_t kMostReaders = 1 << 16;  // ever, of one queue
  untold_ = untold_ || receipts_.empty() || block.reader >= kMostReaders;
  if (receipts_.empty() || block.reader >= kMostReaders) return;
  if (block.reader >= receipts_.size()) receipts_.resize(block.reader + 1);
  auto& of = receipts_[block.reader];
  last_reader_ = block.reader;
  of.elements += block.elements.size();
  of.left_out += block.left_out;
  of.above.insert(block.sequence);
  while (!of.above.empty() && *of.above.begin() == of.below) {
    of.above.erase(of.above.begin());
    ++of.below;
  }
}

QueueSnapshot QueueCore::snapshot() const {
  if (untold_ && !receipts_.empty())
    fail(Code::failed_precondition, title_,
         " has elements of a block that was cut off by a failure: nobody can go on from here");
  if (!given_up_.empty() && receipts_.empty())
    fail(Code::failed_precondition, title_, " has given up ", given_up_.size(),
         " elements that were on their way in: ", reason_.message);
  QueueSnapshot snapshot;
  snapshot.kind = kind_.name;
  snapshot.inside = kind_.store->save();
  snapshot.arriving = given_up_;
  for (const auto& waiting : enqueues_)
    for (auto i = waiting.next; i < waiting.elements.size(); ++i)
      snapshot.arriving.push_back(waiting.elements[i]);
  for (const auto& waiting : dequeues_)
    snapshot.leaving.insert(snapshot.leaving.end(), waiting.taken.begin(), waiting.taken.end());
  snapshot.leaving.insert(snapshot.leaving.end(), leaving_.begin(), leaving_.end());
  snapshot.enqueued = enqueued_;
  snapshot.dequeued = dequeued_;
  snapshot.batches = batches_;
  snapshot.last_reader = last_reader_;
  for (const auto& of : receipts_)
    snapshot.receipts.push_back(
        {of.below, {of.above.begin(), of.above.end()}, of.elements, of.left_out});
  return snapshot;
}

void QueueCore::restore(QueueSnapshot snapshot) {
  if (snapshot.kind != kind_.name)
    fail(Code::invalid_argument, title_, " cannot go on from what a ", snapshot.kind,
         " had inside");
  if (enqueued_ > 0 || !enqueues_.empty() || !dequeues_.empty())
    fail(Code::failed_precondition, title_, " is in use: it cannot go on from a checkpoint");
  for (const auto* elements : {&snapshot.inside.elements, &snapshot.arriving, &snapshot.leaving})
    if (!elements->empty()) check(*elements);
  std::uint64_t bytes = 0;
  for (const auto& element : snapshot.inside.elements) bytes += byte_size(element);
  try {
    kind_.store->restore(std::move(snapshot.inside));
  } catch (const Error& error) {
    throw error.within(title_);
  }
  bytes_ = bytes;
  leaving_ = std::move(snapshot.leaving);
  enqueued_ = snapshot.enqueued;
  dequeued_ = snapshot.dequeued;
  batches_ = snapshot.batches;
  // The blocks of this run are counted from 0 again; what they gave adds up.
  for (std::size_t i = 0; i < receipts_.size() && i < snapshot.receipts.size(); ++i) {
    receipts_[i].elements = snapshot.receipts[i].elements;
    receipts_[i].left_out = snapshot.receipts[i].left_out;
  }
  last_reader_ = snapshot.last_reader;
  if (!snapshot.arriving.empty()) {
    WaitingEnqueue waiting;
    waiting.elements = std::move(snapshot.arriving);
    waiting.done = [](const caf::error&) {};
    enqueues_.push_back(std::move(waiting));
  }
  flush();
}

}  // namespace troupe
