#include "troupe/testing/reading.h"

#include <algorithm>
#include <numeric>

#include "troupe/actors/readers/record_buffer.h"
#include "troupe/messages/fault.h"

namespace troupe::contract {
namespace {

// A reader of finite data is through long before.
constexpr std::size_t kMostRecords = 1'000'000;
constexpr std::size_t kFewestRecords = 8;

void look_at(Scene& scene, const RecordRun& run) {
  if (run.bytes.dtype() != DType::uint8 || run.bytes.shape().rank() != 1)
    scene.fail("the bytes of a run are ", run.bytes.dtype(), ' ', run.bytes.shape(),
               " instead of a row of uint8");
  if (run.ends.size() != run.begins.size())
    scene.fail("a run has ", run.begins.size(), " beginnings of records and ", run.ends.size(),
               " ends");
  for (std::size_t i = 0; i < run.jumps.size(); ++i)
    if (run.jumps[i].index == 0 || run.jumps[i].index >= run.count() ||
        (i > 0 && run.jumps[i].index <= run.jumps[i - 1].index))
      scene.fail("jump ", i, " of a run of ", run.count(), " records is at record ",
                 run.jumps[i].index, "; they are inside of it, in order");
  const auto size = run.bytes.byte_size();
  for (std::size_t i = 0; i < run.count(); ++i)
    if (run.begins[i] > run.ends[i] || run.begins[i] < kRecordPadding ||
        run.ends[i] + kRecordPadding > size)
      scene.fail("record ", run.place(i), " stands at bytes ", run.begins[i], " to ", run.ends[i],
                 " of a buffer of ", size, ", but ", kRecordPadding,
                 " readable bytes are needed on both sides (record_buffer())");
}

void look_at(Scene& scene, const RecordBlock& block) {
  if (block.streams.empty() || block.count() == 0)
    scene.fail("block ", block.sequence, " holds no record; the end of the data is out_of_range");
  for (const auto& run : block.streams) {
    look_at(scene, run);
    if (run.count() != block.count())
      scene.fail("block ", block.sequence, " has ", block.count(), " records of ",
                 block.streams[0].file, ", but ", run.count(), " of ", run.file);
  }
}

}  // namespace

void Reading::add(const RecordBlock& block) {
  sequences.push_back(block.sequence);
  counts.push_back(block.count());
  for (std::size_t i = 0; i < block.count(); ++i) {
    auto& record = records.emplace_back();
    auto& place = places.emplace_back();
    for (const auto& run : block.streams) {
      record.append(run.begin(i), run.end(i)).push_back('|');
      place += (place.empty() ? "" : " and ") + run.place(i);
    }
  }
}

void Reading::sort_blocks() {
  std::vector<std::size_t> order(sequences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return sequences[i]; });
  std::vector<std::size_t> begins(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), std::size_t{0});
  Reading sorted;
  for (const auto i : order) {
    sorted.sequences.push_back(sequences[i]);
    sorted.counts.push_back(counts[i]);
    for (auto k = begins[i]; k < begins[i] + counts[i]; ++k) {
      sorted.records.push_back(records[k]);
      sorted.places.push_back(places[k]);
    }
  }
  sorted.end = end;
  *this = std::move(sorted);
}

const Reply<RecordBlock>& next(Scene& scene, const Reader& reader) {
  const auto& reply = scene.ask<RecordBlock>(reader, "a request for a block", next_atom_v);
  if (reply.value) look_at(scene, *reply.value);
  return reply;
}

Reading read_on(Scene& scene, const Reader& reader) {
  Reading reading;
  while (true) {
    const auto& reply = next(scene, reader);
    if (!reply.value) {
      reading.end = reply.fault;
      return reading;
    }
    reading.add(*reply.value);
    if (reading.records.size() > kMostRecords)
      scene.fail("more than ", kMostRecords, " records came: the data of a contract test must end");
  }
}

Reading read_all(Scene& scene, const ReaderOptions& options) {
  auto all = read_on(scene, scene.spawn(options));
  if (code_of(all.end) != Code::out_of_range)
    scene.fail("reading ended with \"", render(all.end), "\" instead of the end of the data");
  if (all.records.size() < kFewestRecords)
    scene.fail("there are only ", all.records.size(), " records; a contract test needs ",
               kFewestRecords, " to tell right from wrong");
  return all;
}

void expect_rest(Scene& scene, const std::string& what, const Reading& part, const Reading& all,
                 std::size_t first) {
  const auto wanted = all.records.size() - first;
  for (std::size_t i = 0; i < std::min(part.records.size(), wanted); ++i) {
    if (part.records[i] != all.records[first + i])
      scene.fail(what, " differ: record ", i, " is that of ", part.places[i], ", not that of ",
                 all.places[first + i]);
    if (part.places[i] != all.places[first + i])
      scene.fail(what, " have other places: ", part.places[i], " is ", all.places[first + i],
                 " when all are read at once");
  }
  if (part.records.size() != wanted)
    scene.fail(what, " are ", part.records.size(), " records instead of ", wanted, " (\"",
               render(part.end), "\")");
}

ReaderSnapshot snapshot(Scene& scene, const Reader& reader) {
  const auto& reply =
      scene.ask<ReaderSnapshot>(reader, "a request for a snapshot", snapshot_atom_v);
  if (!reply.value) scene.fail("a snapshot was refused: \"", render(reply.fault), '"');
  return *reply.value;
}

}  // namespace troupe::contract
