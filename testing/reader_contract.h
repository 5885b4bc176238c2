#pragma once

#include <caf/actor_system.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/readers/reader.h"
#include "troupe/messages/protocol.h"
#include "troupe/testing/outcome.h"

// What every reader promises (the interface Reader in messages/protocol.h), as checks
// that a reader of your own can be put through. With GoogleTest:
//
//   #include <gtest/gtest.h>
//   #include <troupe/testing/reader_contract.h>
//
//   TROUPE_READER_CONTRACT(MySource, troupe::contract::reader_of([] {
//     return std::make_unique<MySource>("small.dat");
//   }));
//
// With any other framework: check_reader() returns what is wrong.

namespace troupe::contract {

/// A reader under test. All readers that it spawns read the same data: from 8 to
/// about 1000 records, and then the end.
struct ReaderSubject {
  using Spawner = std::function<Reader(caf::actor_system& system, const ReaderOptions& options)>;

  /// A reader that starts with the first record and keeps to the options: the
  /// limits of a block, and how many blocks it reads before somebody asks.
  Spawner spawn;

  /// The same with data in which something is wrong, wherever. Without it, what is
  /// promised about failures is not checked.
  Spawner spawn_damaged{};

  /// How many records all readers together have taken in. Without it, how far they
  /// read ahead is not checked: from outside that cannot be seen.
  std::function<std::uint64_t()> taken{};

  /// A source to be looked at without an actor around it. Without it, what is
  /// promised about sources is not checked.
  SourceFactory source{};

  /// Whether the actors need threads of their own: they block, or are spawned
  /// detached. Otherwise the checks run on a scheduler that moves step by step, and
  /// a request that is not answered is noticed at once.
  bool threads = false;
  /// With threads, a request that takes longer counts as not answered.
  std::chrono::milliseconds patience{30'000};
};

/// A reader actor of ours around the sources that `source` makes, and with `damaged`
/// around sources in whose data something is wrong.
ReaderSubject reader_of(SourceFactory source, SourceFactory damaged = {});

class Scene;

/// One promise.
struct Clause {
  std::string_view name;     ///< "SaysForEverThatTheDataHaveEnded"
  std::string_view promise;  ///< one sentence
  void (*check)(Scene& scene) = nullptr;

  friend std::ostream& operator<<(std::ostream& out, const Clause& clause);
};

/// All of them.
const std::vector<Clause>& reader_clauses();

/// Puts a reader to one test. Exceptions that come out of its spawner are failures.
Outcome check(const Clause& clause, const ReaderSubject& subject);

/// Puts a reader to all tests: "SaysWhereRecordsStand: ..." for each failure.
std::vector<std::string> check_reader(const ReaderSubject& subject);

}  // namespace troupe::contract

/// A GoogleTest suite with a test for each promise, called
/// Reader/NameContract.Holds/SaysWhereRecordsStand and so on. The second argument is
/// an expression that makes a ReaderSubject, computed anew for each test.
#define TROUPE_READER_CONTRACT(Name, ...)                                                \
  class Name##Contract : public ::testing::TestWithParam<::troupe::contract::Clause> {}; \
  TEST_P(Name##Contract, Holds) {                                                        \
    const auto outcome = ::troupe::contract::check(GetParam(), __VA_ARGS__);             \
    for (const auto& failure : outcome.failures)                                         \
      ADD_FAILURE() << GetParam().promise << "\nbut " << failure;                        \
    if (!outcome.skipped.empty()) GTEST_SKIP() << outcome.skipped;                       \
  }                                                                                      \
  INSTANTIATE_TEST_SUITE_P(Reader, Name##Contract,                                       \
                           ::testing::ValuesIn(::troupe::contract::reader_clauses()),    \
                           [](const auto& info) { return std::string(info.param.name); })
