#include "troupe/devices/intra_op_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "support/thread_names.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

TEST(IntraOpPool, RunsEveryShardOnce) {
  IntraOpPool pool("test", 3);
  for (int shards : {0, 1, 2, 3, 100}) {
    std::vector<std::atomic<int>> runs(shards);
    pool.run(shards, [&](int i) { ++runs[i]; });
    for (const auto& count : runs) EXPECT_EQ(count, 1);
  }
}

TEST(IntraOpPool, StartsOneThreadLessThanItCounts) {
  const int before = test::thread_count();
  for (int threads : {1, 2, 4}) {
    IntraOpPool pool("troupe-test", threads);
    EXPECT_EQ(pool.threads(), threads);
    EXPECT_EQ(test::thread_count(), before + threads - 1);
  }
  EXPECT_EQ(test::thread_count_after_the_end(before), before);
}

TEST(IntraOpPool, NamesItsThreads) {
  IntraOpPool pool("troupe-cpu0", 3);
  std::latch both(3);
  pool.run(3, [&](int) { both.arrive_and_wait(); });  // the threads have begun
  EXPECT_THAT(test::thread_names(), testing::IsSupersetOf({"troupe-cpu0-1", "troupe-cpu0-2"}));
}

TEST(IntraOpPool, RefusesToHaveNoThread) { EXPECT_THROW(IntraOpPool("test", 0), Error); }

TEST(IntraOpPool, RunsShardsAtTheSameTime) {
  IntraOpPool pool("test", 3);
  std::latch all(3);
  std::mutex mutex;
  std::set<std::thread::id> ids;
  pool.run(3, [&](int) {
    all.arrive_and_wait();  // returns only when three shards are inside
    const std::lock_guard guard(mutex);
    ids.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(ids.size(), 3u);
  EXPECT_TRUE(ids.contains(std::this_thread::get_id()));
}

TEST(IntraOpPool, DoesNotWaitForAThreadThatIsBusyElsewhere) {
  IntraOpPool pool("test", 2);
  std::latch inside(3), release(1);
  std::thread other([&] {
    pool.run(2, [&](int) {
      inside.arrive_and_wait();
      release.wait();
    });
  });
  inside.arrive_and_wait();  // the other caller and the only pool thread are held
  int sum = 0;
  pool.run(4, [&](int i) { sum += i; });
  EXPECT_EQ(sum, 6);
  release.count_down();
  other.join();
}

TEST(IntraOpPool, ThrowsTheFirstExceptionAgainAndStaysUsable) {
  IntraOpPool pool("test", 2);
  for (int repeat = 0; repeat < 100; ++repeat) {
    EXPECT_THROW(pool.run(10,
                          [](int i) {
                            if (i == 3) throw std::runtime_error("three");
                          }),
                 std::runtime_error);
    std::atomic<int> sum = 0;
    pool.run(10, [&](int i) { sum += i; });
    EXPECT_EQ(sum, 45);
  }
}

TEST(IntraOpPool, MayBeCalledFromAShard) {
  IntraOpPool pool("test", 3);
  std::atomic<int> sum = 0;
  pool.run(8, [&](int) { pool.run(8, [&](int) { pool.run(2, [&](int) { ++sum; }); }); });
  EXPECT_EQ(sum, 128);
}

TEST(IntraOpPool, ServesSeveralCallersAtOnce) {
  IntraOpPool pool("test", 3);
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> total = 0;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 500; ++repeat) {
        std::vector<std::int64_t> parts(7);
        pool.run(7, [&](int i) { parts[i] = i; });
        total += std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
      }
    });
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 500 * 21);
}

TEST(IntraOpPool, SplitsRangesThatAreWorthIt) {
  IntraOpPool pool("test", 2);
  std::vector<int> hits(1000, 0);
  std::atomic<int> calls = 0;
  pool.parallel_for(1000, 1e6, [&](std::int64_t begin, std::int64_t end) {
    ++calls;
    for (auto i = begin; i < end; ++i) ++hits[i];
  });
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(hits, testing::Each(1));
}

}  // namespace
}  // namespace troupe
