// Readers and decoders come and go while a pipeline runs, and each record comes once.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "actors/pipeline/at_work.h"
#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/pipeline/feed.h"
#include "troupe/actors/pipeline/piece_list.h"

namespace troupe {
namespace {

using test::AtWork;
using test::error_of;
using test::flat;
using test::Ids;
using test::IsError;
using test::sorted;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class PipelineEdit : public ::testing::Test {
 protected:
  PipelineEdit() {
    for (int file = 0; file < kFiles; ++file) {
      std::ofstream out(path(file));
      for (int i = 0; i < 40 + 7 * file; ++i) out << id_++ << '\n';
    }
  }
  std::string path(int file) const { return directory_ / std::to_string(file); }
  Examples lines(const std::vector<std::string>& files, std::int64_t epochs,
                 DecodeOptions options = {.decoders = 3, .block_records = 5}) const {
    return read_text(files).repeat(epochs, 5).decode({numbers({})}, options);
  }
  Examples all_lines(std::int64_t epochs = 3) const {
    std::vector<std::string> files;
    for (int i = 0; i < kFiles; ++i) files.push_back(path(i));
    return lines(files, epochs);
  }
  Batches shuffled(std::int64_t epochs = 3) const {
    return all_lines(epochs)
        .shuffle({.capacity = 40, .min_after_dequeue = 20})
        .batch(8, Remainder::keep);
  }
  /// Every id that often, in order.
  Ids ids(std::int64_t epochs) const {
    Ids all;
    for (std::int64_t id = 0; id < id_; ++id) all.insert(all.end(), epochs, id);
    return all;
  }
  /// Any change; whether it was made. Refusals that say why are fine.
  static bool change(AtWork& run, std::mt19937& random) {
    try {
      switch (random() % 6) {
        case 0:
        case 1:
          run.edits().add_reader();
          break;
        case 2:
          run.edits().remove_reader();
          break;
        case 3:
          run.edits().add_decoder();
          break;
        case 4:
          run.edits().remove_decoder();
          break;
        default:
          run.edits().set_decoders(1 + static_cast<int>(random() % 6));
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::failed_precondition) << error.what();
      return false;
    }
    return true;
  }
  /// "267:1 268:-1 ": one came once too often, another was lost.
  static std::string differences(const Ids& taken, const Ids& expected) {
    std::map<std::int64_t, int> more;
    for (const auto id : taken) ++more[id];
    for (const auto id : expected) --more[id];
    std::string words;
    for (const auto& [id, times] : more)
      if (times != 0) words += text(id, ':', times, ' ');
    return words;
  }
  /// Changes the pipeline at random, cuts it at random, and goes on from the cuts.
  void expect_each_record_once(const Batches& batches, const Ids& expected, int times) {
    std::mt19937 random(7);
    int changes = 0;
    for (int i = 0; i < times; ++i) {
      std::vector<Ids> taken;
      std::optional<PipelineSnapshot> cut;
      for (bool last = false; !last;) {
        AtWork run(batches, cut ? &*cut : nullptr);
        last = random() % 3 == 0;
        bool ended = false;
        for (int n = 0; n < 40 && !ended; ++n) {
          if (random() % 2) changes += change(run, random);
          if (random() % 3) continue;
          auto ids = run.next();
          ended = ids.empty();
          if (!ended) taken.push_back(std::move(ids));
        }
        if (last) {
          for (auto& ids : run.rest()) taken.push_back(std::move(ids));
        } else {
          cut = run.snapshot();
          ASSERT_EQ(cut->queue.batches, taken.size());
          if (random() % 2) change(run, random);
        }
      }
      ASSERT_EQ(differences(flat(taken), expected), "") << "run " << i;
    }
    EXPECT_GT(changes, 10 * times);
  }

  static constexpr int kFiles = 6;
  test::TemporaryDirectory directory_;
  std::int64_t id_ = 0;
};

TEST_F(PipelineEdit, HasEachRecordOnceWhoeverComesAndGoes) {
  expect_each_record_once(shuffled(), ids(3), 20);
  expect_each_record_once(all_lines().buffer(13).batch(8, Remainder::keep), ids(3), 20);
}

TEST_F(PipelineEdit, SharesWholeEpochsOfFilesThatAreReadTogether) {
  const auto zipped = read_text({path(0), path(1)})
                          .zip(read_text({path(0), path(1)}))
                          .repeat(9)
                          .decode({numbers({}), numbers({})}, {.decoders = 2, .block_records = 4});
  Ids expected;
  for (std::int64_t id = 0; id < 40 + 47; ++id) expected.insert(expected.end(), 9, id);
  expect_each_record_once(zipped.buffer(9).batch(5, Remainder::keep), expected, 15);
}

TEST_F(PipelineEdit, HasReadersOfSeveralStreams) {
  const auto joined =
      join({lines({path(0), path(1), path(2)}, 3), lines({path(3), path(4), path(5)}, 3)});
  expect_each_record_once(joined.buffer(20).batch(8, Remainder::keep), ids(3), 15);
}

TEST_F(PipelineEdit, CountsBadRecordsOnce) {
  for (int file = 0; file < 3; ++file) std::ofstream(path(file), std::ios::app) << "bad\nbad\n";
  const auto batches = lines({path(0), path(1), path(2)}, 2,
                             {.decoders = 2, .block_records = 3, .skip_bad_records = 12})
                           .buffer(5)
                           .batch(4, Remainder::keep);
  Ids expected;
  for (std::int64_t id = 0; id < 40 + 47 + 54; ++id) expected.insert(expected.end(), 2, id);
  expect_each_record_once(batches, expected, 15);
}

TEST_F(PipelineEdit, KeepsTheOrderWithOtherDecoders) {
  const auto batches = shuffled().in_order();
  std::vector<Ids> undisturbed;
  {
    AtWork run(batches);
    undisturbed = run.rest();
  }
  std::mt19937 random(5);
  for (int i = 0; i < 10; ++i) {
    std::vector<Ids> taken;
    std::optional<PipelineSnapshot> cut;
    for (int part = 0; part < 3; ++part) {
      AtWork run(batches, cut ? &*cut : nullptr);
      for (int n = 0; n < 12 || part == 2; ++n) {
        if (random() % 2) change(run, random);
        auto ids = run.next();
        if (ids.empty()) break;
        taken.push_back(std::move(ids));
      }
      if (part < 2) cut = run.snapshot();
    }
    ASSERT_EQ(taken, undisturbed) << "run " << i;
  }
}

TEST_F(PipelineEdit, KeepsTurnsOfSeveralStreamsWithOtherDecoders) {
  const auto batches = join({lines({path(0)}, 3), lines({path(1)}, 1), lines({path(2)}, 2)})
                           .buffer(9)
                           .batch(8, Remainder::keep)
                           .in_order();
  std::vector<Ids> undisturbed;
  {
    AtWork run(batches);
    undisturbed = run.rest();
  }
  std::mt19937 random(9);
  for (int i = 0; i < 10; ++i) {
    AtWork run(batches);
    std::vector<Ids> taken;
    while (true) {
      change(run, random);
      auto ids = run.next();
      if (ids.empty()) break;
      taken.push_back(std::move(ids));
    }
    ASSERT_EQ(taken, undisturbed) << "run " << i;
  }
}

/// Edits, cuts and batches at the same time, by threads of their own.
TEST_F(PipelineEdit, IsExactWhileEverythingHappensAtOnce) {
  const auto batches = shuffled(20);
  for (unsigned seed = 0; seed < 5; ++seed) {
    std::vector<Ids> taken;
    std::vector<PipelineSnapshot> cuts;
    {
      AtWork run(batches);
      std::atomic<bool> over{false};
      std::vector<std::thread> others;
      for (unsigned i = 0; i < 2; ++i)
        others.emplace_back([&, i] {
          std::mt19937 random(seed * 10 + i);
          while (!over) change(run, random);
        });
      others.emplace_back([&] {
        while (!over && cuts.size() < 30) cuts.push_back(run.snapshot());
      });
      taken = run.rest();
      over = true;
      for (auto& thread : others) thread.join();
    }
    ASSERT_EQ(sorted(flat(taken)), ids(20));
    for (std::size_t i = 0; i < cuts.size(); i += 7) {
      auto all =
          flat({taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(cuts[i].queue.batches)});
      AtWork again(batches, &cuts[i]);
      const auto rest = flat(again.rest());
      all.insert(all.end(), rest.begin(), rest.end());
      ASSERT_EQ(sorted(all), ids(20)) << "cut " << i << " at batch " << cuts[i].queue.batches;
    }
  }
}

TEST_F(PipelineEdit, StopsWhileReadersAndDecodersComeAndGo) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    AtWork run(shuffled(0));  // for ever
    std::mt19937 random(seed);
    for (int i = 0; i < 20; ++i) {
      change(run, random);
      EXPECT_FALSE(run.next().empty());
    }
  }
}

TEST_F(PipelineEdit, LetsNobodyStayWhoHasLeft) {
  AtWork run(shuffled(0));
  const auto before = run.members();
  EXPECT_EQ(run.edits().add_reader(), "reader 1");
  EXPECT_EQ(run.edits().readers(), 2);
  EXPECT_EQ(run.edits().decoders(), 3);
  EXPECT_THAT(run.members(), Contains("reader 1"));
  EXPECT_EQ(run.edits().remove_reader("reader"), "reader");
  // Its decoders leave when the queue has what they have.
  while (run.members().size() > before.size()) run.next();
  EXPECT_THAT(run.members(), Not(Contains("reader")));
  EXPECT_EQ(run.edits().set_readers(3).size(), 2u);
  EXPECT_EQ(run.edits().set_decoders(5).size(), 2u);
  EXPECT_THAT(run.edits().set_decoders(5), ElementsAre());
  EXPECT_EQ(run.edits().decoders(), 5);
}

TEST_F(PipelineEdit, KeepsTheLastOnes) {
  AtWork run(shuffled(0));
  EXPECT_THAT(error_of([&] { run.edits().remove_reader(); }),
              IsError(Code::failed_precondition, HasSubstr("is the only reader")));
  EXPECT_THAT(error_of([&] { run.edits().remove_reader("reader 7"); }),
              IsError(Code::not_found, HasSubstr("no 'reader 7' reads here")));
  run.edits().set_decoders(1);
  EXPECT_THAT(error_of([&] { run.edits().remove_decoder(); }),
              IsError(Code::failed_precondition, HasSubstr("each reader has one")));
  EXPECT_THAT(error_of([&] { run.edits().set_readers(0); }),
              IsError(Code::invalid_argument, HasSubstr("1 to 1024 readers")));
}

TEST_F(PipelineEdit, SaysWhatCannotBeShared) {
  {
    AtWork run(shuffled().in_order());
    EXPECT_THAT(error_of([&] { run.edits().add_reader(); }),
                IsError(Code::failed_precondition, HasSubstr("the order of the records is kept")));
  }
  {
    AtWork run(lines({path(0)}, 1).buffer(9).batch(8, Remainder::keep));
    EXPECT_THAT(error_of([&] { run.edits().add_reader(); }),
                IsError(Code::failed_precondition, HasSubstr("can only be read by one reader")));
  }
  {
    AtWork run(all_lines(1).buffer(1000).batch(8, Remainder::keep));
    run.rest();
    EXPECT_THAT(error_of([&] { run.edits().add_reader(); }),
                IsError(Code::failed_precondition, HasSubstr("has been read to its end")));
    EXPECT_EQ(run.edits().add_decoder(), "decoder 3") << "which finds nothing to do";
  }
  Feed feed({{"id", {DType::int64, {}}}});
  AtWork run(feed.examples().buffer(9).batch(8, Remainder::keep));
  EXPECT_THAT(error_of([&] { run.edits().add_reader(); }),
              IsError(Code::failed_precondition, HasSubstr("filled by hand")));
  EXPECT_THAT(error_of([&] { run.edits().add_decoder(); }),
              IsError(Code::failed_precondition, HasSubstr("no decoders")));
  feed.close();
}

TEST_F(PipelineEdit, TellsOfTheFailureOfADecoderThatCameLater) {
  std::ofstream(path(5), std::ios::app) << "bad\n";
  AtWork run(lines({path(0), path(5)}, 0, {.decoders = 1, .block_records = 5})
                 .buffer(9)
                 .batch(8, Remainder::keep));
  run.edits().add_reader();
  const auto failure = error_of([&] {
    while (true) run.take();
  });
  EXPECT_THAT(failure.what(), HasSubstr(path(5) + ":76"));
}

TEST_F(PipelineEdit, HandsOutAndTakesBackPieces) {
  const auto source =
      std::shared_ptr<const RecordSource>(read_text({path(0), path(1), path(2)}).repeat(2).open());
  PieceList list(source, source->piece(1).str());
  EXPECT_EQ(list.all().position, source->piece(2).str());
  const auto second = list.take();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->position, source->piece(2).str());
  EXPECT_EQ(second->records, kRestOfPiece);
  list.hand_back({*second});
  EXPECT_EQ(list.all().again.size(), 1u);
  std::vector<std::string> places;
  while (const auto piece = list.take()) places.push_back(piece->position);
  EXPECT_THAT(places, ElementsAre(source->piece(2).str(), source->piece(3).str(),
                                  source->piece(4).str(), source->piece(5).str()));
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.all().position, "");
  EXPECT_TRUE(PieceList(source, "").empty());
}

}  // namespace
}  // namespace troupe
