#pragma once

#include <troupe/actors/readers/reader.h>
#include <troupe/actors/readers/record_buffer.h>
#include <troupe/messages/answer.h>

#include <algorithm>
#include <caf/typed_event_based_actor.hpp>
#include <charconv>
#include <string>

/// Records without a file: the numbers from 0 to below `count`, as one byte each.
struct TickerState {
  static constexpr const char* name = "ticker";

  TickerState() = default;  // not an aggregate: CAF would fill it with the actor

  std::int64_t count = 0;
  std::int64_t next = 0;
  std::uint64_t sequence = 0;
  bool stopped = false;
  troupe::ReaderOptions options;
  troupe::StageClock clock;

  troupe::RecordBlock take() {
    if (stopped) troupe::fail(troupe::Code::cancelled, "the ticker has been stopped");
    if (next == count) troupe::fail(troupe::Code::out_of_range, "the ticker has come to its end");
    const auto room =
        std::max<std::size_t>(1, std::min(options.limits.records, options.limits.bytes));
    const auto last = next + static_cast<std::int64_t>(std::min<std::size_t>(
                                 room, static_cast<std::size_t>(count - next)));
    troupe::RecordRun run;
    run.bytes = troupe::record_buffer(static_cast<std::size_t>(last - next));
    run.file = "ticker";
    run.first_record = next + 1;
    for (auto* byte = troupe::record_data(run.bytes); next < last; ++next, ++byte) {
      *byte = static_cast<char>(next);
      run.begins.push_back(static_cast<std::uint32_t>(troupe::kRecordPadding + run.count()));
      run.ends.push_back(run.begins.back() + 1);
    }
    clock.passed_on(run.count(), run.count());
    return {sequence++, {run}};
  }

  void restore(const troupe::ReaderSnapshot& snapshot) {
    const auto& text = snapshot.position;
    std::int64_t to = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (error != std::errc() || end != text.data() + text.size() || to < 0 || to > count)
      troupe::fail(troupe::Code::invalid_argument, "the ticker has no place ", text.substr(0, 40));
    next = to;
    sequence = snapshot.sequence;
  }
};

inline troupe::Reader::behavior_type ticker(troupe::Reader::stateful_pointer<TickerState> self,
                                            std::int64_t count, troupe::ReaderOptions options) {
  self->state.count = count;
  self->state.options = options;
  return {
      [self](troupe::next_atom) { return troupe::answer([&] { return self->state.take(); }); },
      [self](troupe::stop_atom) {
        self->state.stopped = true;
        return caf::ok_atom_v;
      },
      [self](troupe::status_atom) { return self->state.clock.read(); },
      [self](troupe::snapshot_atom) {
        return troupe::ReaderSnapshot{std::to_string(self->state.next), self->state.sequence};
      },
      [self](troupe::restore_atom, const troupe::ReaderSnapshot& snapshot) {
        return troupe::answer([&] {
          self->state.restore(snapshot);
          return caf::ok_atom_v;
        });
      },
  };
}
