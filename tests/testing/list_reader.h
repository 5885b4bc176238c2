#pragma once

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>
#include <charconv>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "troupe/actors/readers/reader.h"
#include "troupe/actors/readers/record_buffer.h"
#include "troupe/messages/answer.h"
#include "troupe/messages/protocol.h"
#include "troupe/messages/stage_clock.h"
#include "troupe/messages/tick.h"

namespace troupe::test {

/// What is wrong with a ListReader.
enum class Flaw {
  none,
  leaves_out_a_number,
  ignores_the_limits,
  takes_empty_limits_for_the_end,
  hides_where_records_stand,
  numbers_records_below_zero,
  crowds_its_buffer,
  begins_anew_after_the_end,
  disguises_a_failure_as_the_end,
  forgets_its_failure,
  gives_a_block_to_everybody,
  never_answers_the_second,
  dies_with_an_asker,
  hoards,
  forgets_who_waits_at_a_stop,
  goes_on_after_a_stop,
  forgets_who_waits_when_it_dies,
  is_one_off_in_snapshots,
  forgets_the_number_of_a_block,
  stays_at_the_end,
  is_lost_after_a_refusal,
  dies_of_a_foreign_snapshot,
  counts_blocks,
};

struct ListReaderOptions {
  std::vector<std::string> records;
  std::optional<std::size_t> damaged;  ///< the record that cannot be read
  Flaw flaw = Flaw::none;
  std::shared_ptr<std::uint64_t> taken;  ///< counts records
};

/// A reader that is an actor of its own: the records of a list.
struct ListReaderState {
  static constexpr const char* name = "test.list_reader";
  using Promise = caf::typed_response_promise<RecordBlock>;

  ListReaderState() = default;
  ~ListReaderState() {
    if (options.flaw == Flaw::forgets_who_waits_when_it_dies) return;
    for (auto& promise : waiting) promise.deliver(fault(Code::cancelled, "the list is gone"));
  }

  bool has(Flaw flaw) const { return options.flaw == flaw; }

  RecordBlock take() {
    auto count = std::max<std::size_t>(1, limits.records);
    if (has(Flaw::ignores_the_limits)) count = 3;
    RecordRun run;
    std::string bytes;
    const auto padding = has(Flaw::crowds_its_buffer) ? 0 : kRecordPadding;
    for (auto i = next; i < options.records.size() && i != options.damaged; ++i) {
      if (run.count() == count || (run.count() > 0 && bytes.size() >= limits.bytes)) break;
      run.begins.push_back(static_cast<std::uint32_t>(padding + bytes.size()));
      bytes += options.records[i];
      run.ends.push_back(static_cast<std::uint32_t>(padding + bytes.size()));
    }
    run.bytes = record_buffer(bytes.size());
    std::copy(bytes.begin(), bytes.end(),
              reinterpret_cast<char*>(run.bytes.mutable_data()) + padding);
    if (!has(Flaw::hides_where_records_stand)) run.file = "list";
    run.first_record =
        static_cast<std::int64_t>(next) + (has(Flaw::numbers_records_below_zero) ? -20 : 1);
    next += run.count();
    if (options.taken && !has(Flaw::hoards)) *options.taken += run.count();
    RecordBlock block;
    block.sequence = sequence++;
    if (has(Flaw::leaves_out_a_number) && block.sequence == 2) ++sequence;
    block.streams.push_back(std::move(run));
    return block;
  }

  caf::result<RecordBlock> answer_one() {
    if (stopped && !has(Flaw::goes_on_after_a_stop))
      return fault(Code::cancelled, "the list has been stopped");
    if (has(Flaw::takes_empty_limits_for_the_end) && (limits.records == 0 || limits.bytes == 0))
      return fault(Code::out_of_range, "no room for a record");
    if (options.damaged == next) {
      if (has(Flaw::disguises_a_failure_as_the_end)) return fault(Code::out_of_range, "the end");
      if (has(Flaw::forgets_its_failure)) ++next;
      return fault(Code::data_loss, "list: torn");
    }
    if (next == options.records.size()) {
      if (has(Flaw::begins_anew_after_the_end)) next = 0;
      return fault(Code::out_of_range, "the end of the list");
    }
    auto block = take();
    status.records += has(Flaw::counts_blocks) ? 1 : block.count();
    status.bytes += block.record_bytes();
    return block;
  }

  void answer_waiting() {
    for (bool first = true; !waiting.empty(); first = false) {
      if (!first && has(Flaw::never_answers_the_second)) waiting.pop_front();
      if (waiting.empty()) return;
      if (has(Flaw::gives_a_block_to_everybody) && waiting.size() > 1) {
        const auto begin = std::pair(next, sequence);
        deliver_first();
        std::tie(next, sequence) = begin;
      } else {
        deliver_first();
      }
    }
  }

  void deliver_first() {
    auto promise = std::move(waiting.front());
    waiting.pop_front();
    auto answer = answer_one();
    if (answer.flag == caf::rt_value)
      promise.deliver(answer.value.template get_as<RecordBlock>(0));
    else
      promise.deliver(answer.err);
  }

  ReaderSnapshot snapshot() const {
    const auto off = has(Flaw::is_one_off_in_snapshots) && next > 0 ? 1 : 0;
    return {std::to_string(next - off), has(Flaw::forgets_the_number_of_a_block) ? 0 : sequence};
  }

  void restore(const ReaderSnapshot& snapshot) {
    if (has(Flaw::stays_at_the_end) && next == options.records.size()) return;
    std::size_t to = 0;
    const auto& text = snapshot.position;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (error != std::errc() || end != text.data() + text.size() || to > options.records.size()) {
      if (has(Flaw::is_lost_after_a_refusal)) next = 0;
      fail(Code::invalid_argument, "the list has no place '", text.substr(0, 20), "'");
    }
    next = to;
    sequence = snapshot.sequence;
  }

  ListReaderOptions options;
  BlockLimits limits;
  std::size_t next = 0;
  std::uint64_t sequence = 0;
  bool stopped = false;
  StageStatus status;
  std::deque<Promise> waiting;
};

inline Reader::behavior_type list_reader(Reader::stateful_pointer<ListReaderState> self,
                                         ListReaderOptions options, ReaderOptions reading) {
  auto& list = self->state;
  list.options = std::move(options);
  list.limits = reading.limits;
  if (list.options.taken && list.has(Flaw::hoards))
    *list.options.taken += list.options.records.size();
  on_tick(self, [self] { self->state.answer_waiting(); });
  return {
      [self](next_atom) -> caf::result<RecordBlock> {
        auto& list = self->state;
        const auto asker = caf::actor_cast<caf::actor>(self->current_sender());
        if (list.has(Flaw::dies_with_an_asker)) self->link_to(asker);
        auto promise = self->make_response_promise<RecordBlock>();
        list.waiting.push_back(promise);
        tick(self);
        return promise;
      },
      [self](stop_atom) {
        auto& list = self->state;
        list.stopped = true;
        if (list.has(Flaw::forgets_who_waits_at_a_stop)) list.waiting.clear();
        list.answer_waiting();
        return caf::ok_atom_v;
      },
      [self](status_atom) { return self->state.status; },
      [self](snapshot_atom) { return self->state.snapshot(); },
      [self](restore_atom, const ReaderSnapshot& snapshot) -> caf::result<caf::ok_atom> {
        if (self->state.has(Flaw::dies_of_a_foreign_snapshot)) {
          self->state.restore(snapshot);  // an exception ends an actor
          return caf::ok_atom_v;
        }
        return answer([&] {
          self->state.restore(snapshot);
          return caf::ok_atom_v;
        });
      },
  };
}

}  // namespace troupe::test
