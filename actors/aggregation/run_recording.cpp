#include "troupe/actors/aggregation/run_recording.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "troupe/actors/system_error.h"
#include "troupe/messages/crc32c.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

static_assert(std::endian::native == std::endian::little,
              "events are written as they lie in memory");

constexpr std::string_view kFormat = "troupe recording 1: ";

constexpr std::size_t kEntryBytes = 20;

std::uint32_t checksum(const RecordedEvent& event, std::uint64_t index) {
  std::array<char, 24> bytes{};
  std::memcpy(bytes.data(), &event.kind, 4);
  std::memcpy(bytes.data() + 4, &event.replica, 4);
  std::memcpy(bytes.data() + 8, &event.number, 8);
  std::memcpy(bytes.data() + 16, &index, 8);
  return crc32c(bytes.data(), bytes.size());
}

}  // namespace

// ---- the file --------------------------------------------------------------------------------

void expect_no_recording_in(const std::string& directory) {
  for (const auto* name : {"decisions", "batches"})
    if (std::filesystem::exists(std::filesystem::path(directory) / name))
      fail(Code::already_exists, directory, " has the recording of another run (", name,
           "): choose another directory, or remove it");
}

RunRecorder::RunRecorder(const std::string& path, const std::string& run)
    : path_(path), file_(std::fopen(path.c_str(), "wbe")) {
  if (!file_) system_error("write", path);
  const auto line = std::string(kFormat) + run + '\n';
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size())
    system_error("write", path);
}

RunRecorder::~RunRecorder() {
  try {
    append({RecordedEvent::Kind::end, 0, count_});
  } catch (const Error&) {  // a recording without an end is refused
  }
}

void RunRecorder::append(const RecordedEvent& event) {
  std::array<char, kEntryBytes> bytes{};
  const auto sum = checksum(event, count_);
  std::memcpy(bytes.data(), &event.kind, 4);
  std::memcpy(bytes.data() + 4, &event.replica, 4);
  std::memcpy(bytes.data() + 8, &event.number, 8);
  std::memcpy(bytes.data() + 16, &sum, 4);
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size())
    system_error("write", path_);
  ++count_;
}

std::vector<RecordedEvent> read_recording(const std::string& path, const std::string& run) {
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path))
    fail(Code::not_found, "there is no recording ", path);
  std::string line;
  std::getline(in, line);
  if (!in || !line.starts_with(kFormat))
    fail(Code::data_loss, path, " is not a recording of a run");
  const auto recorded = line.substr(kFormat.size());
  if (recorded != run)
    fail(Code::failed_precondition, path, " is the recording of another run: ", recorded,
         "; this one is: ", run);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::vector<RecordedEvent> events;
  for (std::size_t at = 0; at + kEntryBytes <= bytes.size(); at += kEntryBytes) {
    RecordedEvent event;
    std::uint32_t sum = 0;
    std::memcpy(&event.kind, bytes.data() + at, 4);
    std::memcpy(&event.replica, bytes.data() + at + 4, 4);
    std::memcpy(&event.number, bytes.data() + at + 8, 8);
    std::memcpy(&sum, bytes.data() + at + 16, 4);
    if (sum != checksum(event, events.size()))
      fail(Code::data_loss, path, " is damaged: event ", events.size(),
           " does not have the checksum that it was written with");
    if (event.kind == RecordedEvent::Kind::lost)
      fail(Code::failed_precondition, path, " cannot be replayed: replica ", event.replica,
           " died in that run");
    if (event.kind == RecordedEvent::Kind::end && event.number == events.size() &&
        at + kEntryBytes == bytes.size())
      return events;
    events.push_back(event);
  }
  fail(Code::data_loss, path, " is cut short: it has ", events.size(),
       " events and no end, as that of a run that was killed");
}

// ---- the order -------------------------------------------------------------------------------

void EventOrder::record(const std::string& path, const std::string& run) {
  recorder_ = std::make_shared<RunRecorder>(path, run);
}

void EventOrder::replay(const std::string& path, const std::string& run) {
  events_ = read_recording(path, run);
  for (const auto& event : events_) ++left_[event];
  replays_ = true;
}

void EventOrder::happen(const RecordedEvent& event, std::function<void()> work) {
  if (recorder_) recorder_->append(event);
  if (!replays_) return work();
  const auto left = left_.find(event);
  if (left == left_.end() || left->second == 0)
    fail(Code::failed_precondition, "the run departs from the recording, in which event ",
         static_cast<std::uint32_t>(event.kind), " of replica ", event.replica, " (", event.number,
         ") does not happen here: are model, data and options the same?");
  --left->second;
  waiting_.emplace(event, std::move(work));
  // What the work brings about by itself waits for its turn in this loop, too.
  if (std::exchange(busy_, true)) return;
  while (next_ < events_.size()) {
    const auto first = waiting_.find(events_[next_]);
    if (first == waiting_.end()) break;
    const auto now = std::move(first->second);
    waiting_.erase(first);
    ++next_;
    now();
  }
  busy_ = false;
}

}  // namespace troupe
