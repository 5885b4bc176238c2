#include "troupe/actors/pipeline/pipeline_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "actors/pipeline/at_work.h"
#include "support/message_of.h"
#include "support/temporary_directory.h"
#include "troupe/actors/pipeline/arrays.h"
#include "troupe/actors/pipeline/feed.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

using ::testing::HasSubstr;

using test::AtWork;
using test::flat;
using test::Ids;
using test::sorted;

class PipelineCut : public ::testing::Test {
 protected:
  PipelineCut() {
    std::int64_t id = 0;
    for (int file = 0; file < 3; ++file) {
      std::ofstream out(path(file));
      for (int i = 0; i < 90 + 7 * file; ++i) out << id++ << '\n';
    }
  }
  std::string path(int file) const { return directory_.path() + "/" + std::to_string(file); }
  Examples lines(const std::vector<std::string>& files, std::int64_t epochs = 2,
                 DecodeOptions options = {.decoders = 3, .block_records = 5}) const {
    return read_text(files).repeat(epochs, 5).decode({numbers({})}, options);
  }
  Examples all_lines() const { return lines({path(0), path(1), path(2)}); }

  /// Cuts at random moments, also of pipelines that went on from a cut themselves, and
  /// expects that what comes after the cut is what comes from there.
  void expect_to_go_on(const Batches& batches, bool ordered, int cuts) {
    std::mt19937 random(3);
    std::vector<Ids> undisturbed;
    {
      AtWork whole(batches);
      undisturbed = whole.rest();
    }
    for (int i = 0; i < cuts; ++i) {
      std::vector<Ids> taken;
      std::optional<PipelineSnapshot> cut;
      while (true) {
        AtWork run(batches, cut ? &*cut : nullptr);
        const bool last = random() % 3 == 0;
        const auto most = last ? undisturbed.size() : random() % 8;
        bool ended = false;
        for (std::size_t n = 0; n < most && !ended; ++n) {
          auto ids = run.next();
          ended = ids.empty();
          if (!ended) taken.push_back(std::move(ids));
        }
        if (last) {
          for (auto& ids : run.rest()) taken.push_back(std::move(ids));
          break;
        }
        cut = run.snapshot();
        ASSERT_EQ(cut->queue.batches, taken.size());
        if (random() % 2) run.next();  // which is lost with the process
      }
      if (ordered)
        ASSERT_EQ(taken, undisturbed) << "cut " << i;
      else
        ASSERT_EQ(sorted(flat(taken)), sorted(flat(undisturbed))) << "cut " << i;
    }
  }

  test::TemporaryDirectory directory_;
};

TEST_F(PipelineCut, GoesOnInOrderFromAFifoQueue) {
  expect_to_go_on(all_lines().buffer(13).batch(8, Remainder::keep).in_order(), true, 20);
}

TEST_F(PipelineCut, GoesOnWithTheSameShuffle) {
  expect_to_go_on(all_lines()
                      .shuffle({.capacity = 40, .min_after_dequeue = 20})
                      .batch(8, Remainder::keep)
                      .in_order(),
                  true, 20);
}

TEST_F(PipelineCut, LosesAndDoublesNothingWhereTheOrderIsNotKept) {
  expect_to_go_on(all_lines().buffer(13).batch(8, Remainder::keep), false, 20);
  expect_to_go_on(
      all_lines().shuffle({.capacity = 40, .min_after_dequeue = 20}).batch(8, Remainder::keep),
      false, 20);
}

TEST_F(PipelineCut, GoesOnWithSeveralReadersInTurn) {
  expect_to_go_on(join({lines({path(0)}, 3), lines({path(1)}), lines({path(2)}, 1)})
                      .shuffle({.capacity = 30, .min_after_dequeue = 10})
                      .batch(8, Remainder::keep)
                      .in_order(),
                  true, 20);
}

TEST_F(PipelineCut, GoesOnWithZippedFilesAndFilteredElements) {
  const auto zipped =
      read_text({path(0), path(1)})
          .zip(read_text({path(0), path(1)}))
          .repeat(2)
          .decode({numbers({}), numbers({})}, {.decoders = 2, .block_records = 4})
          .filter([](const Element& e) { return static_cast<int>(e[0].at(0)) % 20 < 6; });
  expect_to_go_on(zipped.buffer(9).batch(3, Remainder::drop).in_order(), true, 20);
}

TEST_F(PipelineCut, GoesOnWithBuckets) {
  const auto varied = all_lines().map(
      [](Element e) {
        const auto id = e[0].at(0);
        Tensor row(DType::float32, Shape{1 + static_cast<std::int64_t>(id) % 9});
        return Element{row, e[0]};
      },
      {{DType::float32, {-1}}, {DType::float32, {}}});
  const BucketOptions buckets{.boundaries = {4, 7}, .batch_sizes = {8, 6, 4}};
  expect_to_go_on(varied.bucket_by_length(buckets, Remainder::keep).in_order(), true, 15);
  expect_to_go_on(varied.shuffle({.capacity = 60, .min_after_dequeue = 20})
                      .bucket_by_length(buckets, Remainder::keep)
                      .in_order(),
                  true, 15);
}

TEST_F(PipelineCut, CountsBadRecordsOnce) {
  {
    std::ofstream out(path(0), std::ios::app);
    for (int i = 0; i < 10; ++i) out << "bad\n";
  }
  const auto batches =
      lines({path(0)}, 1, {.decoders = 2, .block_records = 3, .skip_bad_records = 10})
          .buffer(5)
          .batch(4, Remainder::keep);
  // All of them are within the budget, however often the pipeline begins again.
  expect_to_go_on(batches.in_order(), true, 20);
  expect_to_go_on(batches, false, 20);
}

TEST_F(PipelineCut, GoesOnWithOtherDecoders) {
  const auto with = [&](int decoders) {
    return lines({path(0), path(1)}, 2, {.decoders = decoders, .block_records = 5})
        .shuffle({.capacity = 40, .min_after_dequeue = 20})
        .batch(8, Remainder::keep)
        .in_order();
  };
  std::optional<PipelineSnapshot> cut;
  std::vector<Ids> taken;
  {
    AtWork run(with(1));
    for (int i = 0; i < 5; ++i) taken.push_back(run.next());
    cut = run.snapshot();
  }
  AtWork run(with(4), &*cut);
  for (auto& ids : run.rest()) taken.push_back(std::move(ids));
  AtWork undisturbed(with(2));
  EXPECT_EQ(taken, undisturbed.rest());
}

TEST_F(PipelineCut, SaysThatAFeedCannotGoBack) {
  const auto batches_of = [](const Feed& feed) {
    return feed.examples().buffer(10).batch(2, Remainder::keep);
  };
  const auto push = [](Feed& feed, std::int64_t begin, std::int64_t end) {
    for (auto i = begin; i < end; ++i) feed.push({Tensor::scalar<std::int64_t>(i)});
  };
  const std::vector<QueueComponent> components{{"id", {DType::int64, {}}}};
  std::optional<PipelineSnapshot> cut;
  {
    Feed feed(components);
    AtWork run(batches_of(feed));
    push(feed, 0, 6);
    EXPECT_EQ(run.next(), (Ids{0, 1}));
    while (true) {  // until all are in
      cut = run.snapshot();
      if (cut->lanes.at(0).elements == 6) break;
    }
    feed.close();
  }
  Feed feed(components);
  AtWork run(batches_of(feed), &*cut);
  ASSERT_EQ(run.notes().size(), 1u);
  EXPECT_THAT(run.notes()[0], HasSubstr("6 of its elements are part of the checkpoint"));
  push(feed, 6, 8);
  feed.close();
  EXPECT_EQ(flat(run.rest()), (Ids{2, 3, 4, 5, 6, 7}));
}

TEST_F(PipelineCut, RefusesOtherDataAndOtherQueues) {
  const auto fifo = [](const Examples& examples) {
    return examples.buffer(10).batch(2, Remainder::keep);
  };
  PipelineSnapshot cut;
  {
    AtWork run(fifo(lines({path(0)})));
    run.next();
    cut = run.snapshot();
  }
  const auto refusal = [&](const Batches& batches) {
    return test::message_of([&] {
      Troupe troupe({2, 1});
      batches.spawn(troupe, "", 7, &cut);
    });
  };
  EXPECT_THAT(refusal(fifo(lines({path(1)}))), HasSubstr("stands in the middle of"));
  EXPECT_THAT(refusal(fifo(join({lines({path(0)}), lines({path(1)})}))),
              HasSubstr("1 readers and feeds, but now there are 2"));
  EXPECT_THAT(refusal(lines({path(0)}).shuffle({}).batch(2, Remainder::keep)),
              HasSubstr("cannot go on from what a FIFOQueue had inside"));
  std::ofstream(path(0)) << "1\n";  // the file was cut short
  EXPECT_THAT(refusal(fifo(lines({path(0)}))), HasSubstr(path(0)));
}

}  // namespace
}  // namespace troupe
