#include <algorithm>
#include <cctype>
#include <limits>
#include <numeric>
#include <optional>

#include "troupe/messages/fault.h"
#include "troupe/testing/reader_contract.h"
#include "troupe/testing/reading.h"
#include "troupe/testing/scene.h"

namespace troupe::contract {
namespace {

constexpr auto kHuge = std::numeric_limits<std::size_t>::max();

// ---- blocks ----------------------------------------------------------------------------------

void numbers_blocks(Scene& scene) {
  const auto all = read_all(scene, blocks_of(1));
  for (std::size_t i = 0; i < all.sequences.size(); ++i)
    if (all.sequences[i] != i)
      scene.fail("block ", i, " has the sequence number ", all.sequences[i]);
}

void keeps_to_limits(Scene& scene) {
  const auto all = read_all(scene, blocks_of(1));
  if (all.records.size() != all.sequences.size())
    scene.fail("with BlockLimits::records = 1 there are ", all.records.size(), " records in ",
               all.sequences.size(), " blocks");
  std::size_t bytes = 0;
  for (const auto& record : all.records) bytes += record.size();
  const auto third = std::max<std::size_t>(1, bytes / 3);
  for (const auto& options :
       {blocks_of(3), blocks_of(1000, 1), blocks_of(kHuge, third), blocks_of(kHuge, kHuge)}) {
    const auto reader = scene.spawn(options);
    Reading reading;
    const auto limits = text(" (BlockLimits ", options.limits.records, " records, ",
                             options.limits.bytes, " bytes)");
    for (const auto* reply = &next(scene, reader); reply->value; reply = &next(scene, reader)) {
      const auto& block = *reply->value;
      reading.add(block);
      if (block.count() > options.limits.records)
        scene.fail("a block has ", block.count(), " records", limits);
      for (const auto& run : block.streams) {
        std::size_t before_last = 0;
        for (std::size_t i = 0; i + 1 < run.count(); ++i)
          before_last += run.ends[i] - run.begins[i];
        if (before_last > options.limits.bytes)
          scene.fail("a block has ", before_last, " bytes in front of its last record", limits);
      }
    }
    expect_rest(scene, text("the records read in other blocks", limits), reading, all, 0);
  }
}

void refuses_empty_limits(Scene& scene) {
  for (const auto& options : {blocks_of(0), blocks_of(1, 0), blocks_of(0, 0)}) {
    const auto reader = scene.spawn(options);
    const auto& reply = next(scene, reader);
    if (!reply.value && code_of(reply.fault) == Code::out_of_range)
      scene.fail("limits of ", options.limits.records, " records and ", options.limits.bytes,
                 " bytes look like the end of the data (\"", render(reply.fault), "\")");
  }
}

void says_where_records_stand(Scene& scene) {
  const auto reader = scene.spawn(blocks_of(3));
  for (const auto* reply = &next(scene, reader); reply->value; reply = &next(scene, reader))
    for (const auto& run : reply->value->streams) {
      if (run.file.empty()) scene.fail("the records of a run have no file (RecordRun::file)");
      if (run.first_record < 0)
        scene.fail("the first record of a run of ", run.file, " has the number ", run.first_record,
                   "; they count from 1, and 0 is a whole file (RecordRun::first_record)");
    }
}

// ---- the end, failures -----------------------------------------------------------------------

void ends_for_ever(Scene& scene) {
  const auto reader = scene.spawn(blocks_of(3));
  (void)read_on(scene, reader);
  for (int i = 0; i < 3; ++i) {
    const auto& reply = next(scene, reader);
    if (reply.value || code_of(reply.fault) != Code::out_of_range)
      scene.fail("request ", i, " after the end was answered with ",
                 reply.value ? "a block" : render(reply.fault));
  }
}

void fails_for_ever(Scene& scene) {
  const auto reader = scene.spawn_damaged(blocks_of(1));
  const auto first = read_on(scene, reader).end;
  const auto code = code_of(first);
  if (code == Code::out_of_range || code == Code::cancelled)
    scene.fail("damaged data end with \"", render(first),
               "\", which does not sound like a failure");
  if (to_error(first).what() == std::string())
    scene.fail("the failure of damaged data (", to_string(code), ") has no words");
  for (int i = 0; i < 3; ++i) {
    const auto& reply = next(scene, reader);
    if (reply.value || code_of(reply.fault) != code)
      scene.fail("request ", i, " after the failure was answered with ",
                 reply.value ? "a block" : render(reply.fault), " instead of \"", render(first),
                 '"');
  }
}

// ---- several askers --------------------------------------------------------------------------

void serves_many_askers(Scene& scene) {
  const auto all = read_all(scene, blocks_of(1));
  for (const std::size_t askers : {2, 5}) {
    const auto reader = scene.spawn(blocks_of(1, 1, 1));
    Reading together;
    for (bool more = true; more;) {
      std::vector<std::shared_ptr<Reply<RecordBlock>>> replies;
      for (std::size_t i = 0; i < askers; ++i)
        replies.push_back(scene.post<RecordBlock>(reader, next_atom_v));
      for (const auto& reply : replies) {
        const auto& answer = scene.wait(reply, text("one of ", askers, " requests at a time"));
        more = more && answer.value.has_value();
        if (answer.value) together.add(*answer.value);
      }
    }
    together.sort_blocks();
    for (std::size_t i = 0; i < together.sequences.size(); ++i)
      if (together.sequences[i] != i)
        scene.fail("with ", askers, " askers, block ", together.sequences[i],
                   together.sequences[i] < i ? " came twice" : " came, but not the one before");
    expect_rest(scene, text("the records that ", askers, " askers have got"), together, all, 0);
  }
}

void survives_askers(Scene& scene) {
  const auto all = read_all(scene, blocks_of(1));
  constexpr std::size_t kSteps = 4;
  // Let the death come at different moments.
  for (std::size_t steps = 0; steps <= kSteps; ++steps) {
    const auto reader = scene.spawn(blocks_of(1, 1, 0));
    const auto lost = scene.post<RecordBlock>(reader, next_atom_v);
    for (std::size_t i = 0; i < steps; ++i) scene.step();
    scene.send_exit(scene.last_client());
    const auto rest = read_on(scene, reader);
    if (code_of(rest.end) != Code::out_of_range)
      scene.fail("after an asker had died, reading ended with \"", render(rest.end), '"');
    // The block on its way to the dead is gone with it, and no other.
    const auto missing = all.records.size() - std::min(all.records.size(), rest.records.size());
    if (missing > 1) scene.fail("when one asker died, ", missing, " blocks were lost");
    auto served = all;
    if (missing == 1) {
      const auto lost_one = static_cast<std::ptrdiff_t>(
          std::ranges::mismatch(rest.places, all.places).in2 - all.places.begin());
      served.records.erase(served.records.begin() + lost_one);
      served.places.erase(served.places.begin() + lost_one);
    }
    expect_rest(scene, "the records after the death of an asker", rest, served, 0);
  }
}

void reads_ahead_within_bounds(Scene& scene) {
  if (!scene.subject().taken)
    scene.skip("how far it reads ahead cannot be seen (ReaderSubject::taken)");
  (void)read_all(scene, blocks_of(1));
  for (const std::size_t ahead : {0, 2}) {
    const auto before = scene.subject().taken();
    const auto reader = scene.spawn(blocks_of(1, 1, ahead));
    for (std::uint64_t asked = 0; asked < 4; ++asked) {
      scene.settle(reader);
      const auto taken = scene.subject().taken() - before;
      // One more may be on its way.
      if (taken > asked + ahead + 1)
        scene.fail("it had taken in ", taken, " records when ", asked,
                   " had been asked for (ReaderOptions::read_ahead is ", ahead, ")");
      (void)next(scene, reader);
    }
  }
}

// ---- stopping --------------------------------------------------------------------------------

void stops(Scene& scene) {
  constexpr int kSteps = 6;
  for (int steps = 0; steps <= kSteps; ++steps) {
    const auto reader = scene.spawn(blocks_of(1, 1, 0));
    std::vector<std::shared_ptr<Reply<RecordBlock>>> waiting;
    for (int i = 0; i < 3; ++i) waiting.push_back(scene.post<RecordBlock>(reader, next_atom_v));
    for (int i = 0; i < steps; ++i) scene.step();
    const auto& stopped = scene.ask<caf::ok_atom>(reader, "a request to stop", stop_atom_v);
    if (!stopped.value) scene.fail("a request to stop was refused: \"", render(stopped.fault), '"');
    for (const auto& reply : waiting) {
      const auto& answer = scene.wait(reply, "a request that waited when the reader was stopped");
      if (!answer.value && code_of(answer.fault) != Code::cancelled)
        scene.fail("a request that waited when the reader was stopped was answered with \"",
                   render(answer.fault), "\" instead of cancelled");
    }
    for (int i = 0; i < 2; ++i) {
      const auto& later = next(scene, reader);
      if (later.value || code_of(later.fault) != Code::cancelled)
        scene.fail("a request after the stop was answered with ",
                   later.value ? "a block" : render(later.fault), " instead of cancelled");
    }
    if (!scene.ask<caf::ok_atom>(reader, "a second request to stop", stop_atom_v).value)
      scene.fail("a second request to stop was refused");
  }
}

void answers_when_it_dies(Scene& scene) {
  constexpr int kSteps = 6;
  for (int steps = 0; steps <= kSteps; ++steps) {
    const auto reader = scene.spawn(blocks_of(1, 1, 0));
    std::vector<std::shared_ptr<Reply<RecordBlock>>> waiting;
    for (int i = 0; i < 3; ++i) waiting.push_back(scene.post<RecordBlock>(reader, next_atom_v));
    for (int i = 0; i < steps; ++i) scene.step();
    scene.send_exit(caf::actor_cast<caf::actor>(reader));
    for (const auto& reply : waiting) {
      const auto& answer = scene.wait(reply, "a request that waited when the reader died");
      if (!answer.value && code_of(answer.fault) == Code::out_of_range)
        scene.fail("the death of the reader looks like the end of the data");
    }
  }
}

// ---- snapshots -------------------------------------------------------------------------------

/// Restores, and reads to the end.
Reading read_from(Scene& scene, const Reader& reader, const ReaderSnapshot& from) {
  const auto& restored =
      scene.ask<caf::ok_atom>(reader, "a request to restore a snapshot", restore_atom_v, from);
  if (!restored.value)
    scene.fail("its own snapshot \"", from.position, "\" was refused: \"", render(restored.fault),
               '"');
  return read_on(scene, reader);
}

void goes_on_from_snapshots(Scene& scene) {
  const auto all = read_all(scene, blocks_of(1));
  // Data of many records are tried at some of them only.
  const auto stride = std::max<std::size_t>(1, all.records.size() / 64);
  const auto reader = scene.spawn(blocks_of(1));
  for (std::size_t done = 0; done <= all.records.size(); ++done) {
    if (done % stride == 0 || done == all.records.size()) {
      const auto from = snapshot(scene, reader);
      if (from.sequence != done)
        scene.fail("after ", done, " blocks the snapshot says that the next one is number ",
                   from.sequence);
      const auto other = scene.spawn(blocks_of(1 + done % 4, std::size_t{1} << 20, done % 3));
      const auto rest = read_from(scene, other, from);
      const auto what = text("the records after the snapshot behind record ", done);
      expect_rest(scene, what, rest, all, done);
      if (code_of(rest.end) != Code::out_of_range)
        scene.fail(what, " end with \"", render(rest.end), '"');
      for (std::size_t i = 0; i < rest.sequences.size(); ++i)
        if (rest.sequences[i] != done + i)
          scene.fail("block ", i, " after the snapshot behind block ", done, " is number ",
                     rest.sequences[i]);
    }
    (void)next(scene, reader);
  }
}

void starts_again(Scene& scene) {
  const auto reader = scene.spawn(blocks_of(3));
  const auto begin = snapshot(scene, reader);
  const auto once = read_on(scene, reader);
  const auto again = read_from(scene, reader, begin);
  expect_rest(scene, "the records after going back to the start", again, once, 0);
  if (again.sequences != once.sequences)
    scene.fail("after going back to the start, the blocks have other numbers");
}

/// A text with some of its numbers replaced: number `which`, or all of them.
std::string with_number(const std::string& text, const std::string& number,
                        std::optional<std::size_t> which) {
  const auto digit = [&](std::size_t i) {
    return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i])) != 0;
  };
  std::string changed;
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto begin = i;
    while (digit(i)) ++i;
    if (i == begin)
      changed += text[i++];
    else if (!which || *which == count++)
      changed += number;
    else
      changed += text.substr(begin, i - begin);
  }
  return changed;
}

/// Texts that are no place in anybody's data, and some that might look like one.
std::vector<std::string> hostile_positions(const std::string& honest) {
  std::vector<std::string> texts{"",
                                 "no position",
                                 "epoch 0",
                                 std::string(100'000, 'x'),
                                 honest.substr(0, honest.size() / 2),
                                 honest + " and more"};
  constexpr std::size_t kNumbers = 12;
  for (const char* number :
       {"1", "2", "3", "99999999", "9223372036854775807", "18446744073709551615", "-1"}) {
    texts.push_back(with_number(honest, number, std::nullopt));
    for (std::size_t which = 0; which < kNumbers; ++which) {
      auto changed = with_number(honest, number, which);
      if (changed != honest) texts.push_back(std::move(changed));
    }
  }
  return texts;
}

void refuses_foreign_snapshots(Scene& scene) {
  const auto all = read_all(scene, blocks_of(1));
  const auto begun = scene.spawn(blocks_of(1));
  (void)next(scene, begun);
  for (const auto& position : hostile_positions(snapshot(scene, begun).position)) {
    const auto reader = scene.spawn(blocks_of(1));
    const auto first = next(scene, reader).value;
    const auto shown = position.substr(0, 60);
    const auto& restored =
        scene.ask<caf::ok_atom>(reader, "a request to restore a foreign snapshot", restore_atom_v,
                                ReaderSnapshot{position, 0});
    const auto rest = read_on(scene, reader);
    if (restored.value) continue;  // it was a place after all, and reading from it has ended
    const auto code = code_of(restored.fault);
    if (code != Code::data_loss && code != Code::invalid_argument)
      scene.fail("the snapshot \"", shown, "\" was refused with \"", render(restored.fault),
                 "\" instead of data_loss or invalid_argument");
    expect_rest(scene, text("the records after the refusal of the snapshot \"", shown, '"'), rest,
                all, 1);
  }
}

// ---- counters --------------------------------------------------------------------------------

void counts(Scene& scene) {
  const auto reader = scene.spawn(blocks_of(2));
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  for (const auto* reply = &next(scene, reader);; reply = &next(scene, reader)) {
    if (reply->value) {
      records += reply->value->count();
      bytes += reply->value->record_bytes();
    }
    const auto status =
        scene.ask<StageStatus>(reader, "a request for its status", status_atom_v).value;
    if (!status) scene.fail("a request for its status was refused");
    if (status->records != records)
      scene.fail("its status says ", status->records, " records, but ", records,
                 " have been handed out");
    if (status->bytes != bytes && status->bytes != 0)
      scene.fail("its status says ", status->bytes, " bytes, but ", bytes, " have been handed out");
    if (!reply->value) return;
  }
}

// ---- sources ---------------------------------------------------------------------------------

std::unique_ptr<RecordSource> source_of(Scene& scene) {
  if (!scene.subject().source) scene.skip("there is no source (ReaderSubject::source)");
  return scene.subject().source();
}

/// At most `most` blocks.
Reading read_source(RecordSource& source, std::size_t most = kHuge) {
  Reading reading;
  RecordBlock block;
  while (most-- > 0 && source.read(block.streams, {.records = 2})) {
    reading.add(block);
    ++block.sequence;
  }
  return reading;
}

void restarts(Scene& scene) {
  const auto source = source_of(scene);
  const auto all = read_source(*source);
  for (const std::size_t blocks : {std::size_t{1}, kHuge}) {
    source->restart({});
    (void)read_source(*source, blocks);
    source->restart({});
    expect_rest(scene, "the records after a restart", read_source(*source), all, 0);
  }

  const auto files = source->file_count();
  if (files < 1) scene.fail("file_count() is 0");
  std::vector<std::size_t> order(files);
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  source->restart(order);
  auto reversed = read_source(*source);
  auto sorted = all;
  std::ranges::sort(reversed.places);
  std::ranges::sort(sorted.places);
  if (reversed.places != sorted.places)
    scene.fail("with its ", files, " files in another order the source gives other records");

  order.push_back(0);
  try {
    source->restart(order);
  } catch (const Error& error) {
    if (error.code() == Code::invalid_argument) return;
  }
  scene.fail("restart() took an order that names a file twice (file_order() refuses it)");
}

void positions(Scene& scene) {
  const auto source = source_of(scene);
  const auto all = read_source(*source);
  source->restart({});
  std::size_t done = 0;
  for (bool more = true; more;) {
    const auto at = source->position();
    if (source->position() != at || SourcePosition::parse(at.str()) != at)
      scene.fail("position() after ", done, " records is not the same when it is asked again");
    source->seek(at);
    expect_rest(scene, text("the records after seek() to ", at.str()), read_source(*source), all,
                done);
    source->seek(at);
    const auto block = read_source(*source, 1);
    more = !block.records.empty();
    done += block.records.size();
  }
}

void describes(Scene& scene) {
  if (source_of(scene)->describe().empty())
    scene.fail("describe() is empty; it says in messages what is read");
}

const std::vector<Clause> kClauses = {
    {"NumbersBlocksFromZeroWithoutAGap", "blocks have the sequence numbers 0, 1, 2 ...",
     numbers_blocks},
    {"KeepsToTheLimitsOfABlock",
     "a block has no more records than BlockLimits say, and no more bytes but for its last record; "
     "the records are the same whatever the limits",
     keeps_to_limits},
    {"DoesNotTakeEmptyLimitsForTheEnd",
     "limits of nothing are refused, or a block holds one record all the same",
     refuses_empty_limits},
    {"SaysWhereRecordsStand",
     "every record has a file, and a number in it from 1 unless it is the whole file",
     says_where_records_stand},
    {"SaysForEverThatTheDataHaveEnded",
     "after the last block every request is answered with out_of_range", ends_for_ever},
    {"FailsForEverWithItsFailure",
     "what is wrong with the data is told with words and a code of its own, now and later",
     fails_for_ever},
    {"GivesEachRecordOnceToManyAskers",
     "when several ask at the same time, each block goes to one of them", serves_many_askers},
    {"GoesOnWhenAnAskerDies", "others get all blocks but the one on its way to the dead",
     survives_askers},
    {"ReadsAheadNoFurtherThanItMay",
     "when nobody asks, no more is read than ReaderOptions::read_ahead blocks",
     reads_ahead_within_bounds},
    {"AnswersEverybodyWhenItIsStopped",
     "a stop is answered, and whoever waits or comes later gets cancelled", stops},
    {"AnswersEverybodyWhenItDies", "nobody waits for ever on a reader that is gone",
     answers_when_it_dies},
    {"GoesOnFromEverySnapshot",
     "another reader goes on from a snapshot with exactly the records that were still to come",
     goes_on_from_snapshots},
    {"StartsAgainFromItsFirstSnapshot",
     "a snapshot of the start is a way back to it, also at the end", starts_again},
    {"RefusesForeignSnapshotsUnharmed",
     "what is no place in the data is refused with data_loss or invalid_argument, and then reading "
     "goes on as if it had not been asked",
     refuses_foreign_snapshots},
    {"CountsWhatItHandsOut", "its status counts the records and bytes that it has handed out",
     counts},
    {"RestartsWithItsFilesInAnyOrder",
     "restart() goes back to the first record, with the files in the order that it is given",
     restarts},
    {"GoesOnFromEveryPosition", "seek() to a position gives the records that came from there",
     positions},
    {"DescribesItself", "describe() names what is read", describes},
};

}  // namespace

const std::vector<Clause>& reader_clauses() { return kClauses; }

}  // namespace troupe::contract
