#include "troupe/actors/readers/queue_reader.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "troupe/actors/readers/reader_behavior.h"

namespace troupe {
namespace {

using Self = Reader::stateful_pointer<QueueReaderState>;

// ---- snapshots -------------------------------------------------------------------------------

/// "11:data/a.txtepoch 0; file 0 ...\n", a line for each file.
std::string encode(const std::vector<QueueReaderState::File>& files) {
  std::string words;
  for (const auto& file : files)
    words += text(file.name.size(), ':', file.name, file.position.str(), '\n');
  return words;
}

std::vector<QueueReaderState::File> decode(std::string_view words) {
  std::vector<QueueReaderState::File> files;
  while (!words.empty()) {
    std::size_t length = 0;
    const auto* const last = words.data() + words.size();
    const auto [end, problem] = std::from_chars(words.data(), last, length);
    if (problem != std::errc() || end == last || *end != ':' ||
        length > static_cast<std::size_t>(last - end - 1))
      fail(Code::data_loss, "not the position of a reader with a queue: \"", words, '"');
    words.remove_prefix(static_cast<std::size_t>(end - words.data()) + 1);
    auto name = std::string(words.substr(0, length));
    words.remove_prefix(length);
    const auto stop = std::min(words.find('\n'), words.size());
    files.push_back({std::move(name), SourcePosition::parse(words.substr(0, stop))});
    words.remove_prefix(std::min(stop + 1, words.size()));
  }
  return files;
}

ReaderSnapshot snapshot(const QueueReaderState& r) {
  if (r.end && code_of(r.end) != Code::out_of_range) throw to_error(r.end);
  std::vector<QueueReaderState::File> files;
  std::uint64_t last = 0;
  for (const auto& ready : r.ready)
    if (std::exchange(last, ready.file) != ready.file)
      files.push_back({r.names.at(ready.file), ready.begin});
  if (r.source && r.serial != last) files.push_back({r.names.at(r.serial), r.source->position()});
  files.insert(files.end(), r.files.begin(), r.files.end());
  return {encode(files), r.sequence - r.ready.size()};
}

void restore(QueueReaderState& r, const ReaderSnapshot& snapshot) {
  auto files = decode(snapshot.position);
  r.source.reset();
  r.ready.clear();
  r.names.clear();
  r.end = r.queue_end = {};
  r.files.assign(std::make_move_iterator(files.begin()), std::make_move_iterator(files.end()));
  r.sequence = snapshot.sequence;
}

// ---- reading ---------------------------------------------------------------------------------

void open_next(QueueReaderState& r) {
  const auto file = std::move(r.files.front());
  r.files.pop_front();
  r.source = r.open(file.name);
  if (!file.position.streams.empty()) r.source->seek(file.position);
  r.names[++r.serial] = file.name;
}

/// A block of the file in progress, if it has another one.
void read_one(QueueReaderState& r, const BlockLimits& limits) {
  if (!r.source && r.files.empty()) return;
  try {
    if (!r.source) open_next(r);
    ReaderState::Ready next;
    next.file = r.serial;
    next.begin = r.source->position();
    if (r.source->read(next.block.streams, limits)) {
      next.block.sequence = r.sequence++;
      r.ready.push_back(std::move(next));
    } else {
      r.source.reset();
    }
  } catch (...) {
    r.end = current_failure();
    r.source.reset();
  }
}

std::string name_in(const Batch& batch) {
  if (batch.components.size() != 1)
    fail(Code::invalid_argument, "a queue of file names has one component, not ",
         batch.components.size());
  const auto& names = batch.components[0];
  if (names.dtype() != DType::string || names.size() != 1)
    fail(Code::invalid_argument, "an element of a queue of file names is one string, not ",
         names.dtype(), ' ', names.shape().without_first());
  return names.read<std::string>()[0];
}

void advance(Self self, const QueueReaderOptions& options);

void ask(Self self, const QueueReaderOptions& options) {
  self->state.asking = true;
  self->request(self->state.queue, caf::infinite, dequeue_atom_v, DequeueRequest{})
      .then(
          [self, options](const Batch& batch) {
            auto& r = self->state;
            r.asking = false;
            try {
              r.files.push_back({name_in(batch), {}});
            } catch (...) {
              if (!r.end) r.end = current_failure();
            }
            advance(self, options);
          },
          [self, options](caf::error& why) {
            auto& r = self->state;
            r.asking = false;
            const auto report = options.report ? options.report->words() : std::string();
            if (code_of(why) == Code::out_of_range && !report.empty())
              r.queue_end = fault(Code::out_of_range, to_error(why).what(), "; ", report);
            else
              r.queue_end = std::move(why);
            advance(self, options);
          });
}

void advance(Self self, const QueueReaderOptions& options) {
  auto& r = self->state;
  answer_waiting(r);
  const bool enough = r.ready.size() >= options.read_ahead + r.waiting.size();
  r.names.erase(r.names.begin(), r.names.lower_bound(r.ready.empty() ? r.serial : r.ready[0].file));
  if (r.reading) return;
  const bool something = r.source || !r.files.empty();
  if (!something && !r.end && r.queue_end) {
    r.end = r.queue_end;
    answer_waiting(r);
  }
  r.clock.enter(r.end       ? StageActivity::idle
                : enough    ? StageActivity::waiting_for_output
                : something ? StageActivity::busy
                            : StageActivity::waiting_for_input);
  if (r.end || enough) return;
  if (something) {
    r.reading = true;
    tick(self);
  } else if (!r.asking) {
    ask(self, options);
  }
}

}  // namespace

Reader::behavior_type queue_reader(Self self, Queue queue, FileOpener open,
                                   QueueReaderOptions options) {
  self->state.queue = std::move(queue);
  self->state.open = std::move(open);
  self->state.end = check_limits(options.limits);
  return reader_behavior(
      self, [options](QueueReaderState& r) { read_one(r, options.limits); },
      [options](Self reader) { advance(reader, options); }, snapshot, restore);
}

}  // namespace troupe
