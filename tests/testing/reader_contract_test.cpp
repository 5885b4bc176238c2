#include "troupe/testing/reader_contract.h"

#include <gmock/gmock.h>

#include <set>

#include "actors/decoders/listed_source.h"
#include "testing/list_reader.h"

namespace troupe {
namespace {

using contract::ReaderSubject;
using test::Flaw;
using test::list_reader;
using test::ListReaderOptions;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

/// Readers of twelve records that are actors of their own.
ReaderSubject list_with(Flaw flaw) {
  ListReaderOptions options;
  options.records = test::numbers_below(12);
  options.flaw = flaw;
  options.taken = std::make_shared<std::uint64_t>(0);
  auto damaged = options;
  damaged.damaged = 7;
  ReaderSubject subject;
  subject.spawn = [options](caf::actor_system& system, const ReaderOptions& reading) -> Reader {
    return system.spawn(list_reader, options, reading);
  };
  subject.spawn_damaged = [damaged](caf::actor_system& system,
                                    const ReaderOptions& reading) -> Reader {
    return system.spawn(list_reader, damaged, reading);
  };
  subject.taken = [taken = options.taken] { return *taken; };
  return subject;
}

TROUPE_READER_CONTRACT(ListReader, list_with(Flaw::none));

/// Each flaw with the promise that it breaks.
const std::vector<std::pair<Flaw, std::string>> kBroken = {
    {Flaw::leaves_out_a_number, "NumbersBlocksFromZeroWithoutAGap"},
    {Flaw::ignores_the_limits, "KeepsToTheLimitsOfABlock"},
    {Flaw::crowds_its_buffer, "KeepsToTheLimitsOfABlock"},
    {Flaw::takes_empty_limits_for_the_end, "DoesNotTakeEmptyLimitsForTheEnd"},
    {Flaw::hides_where_records_stand, "SaysWhereRecordsStand"},
    {Flaw::numbers_records_below_zero, "SaysWhereRecordsStand"},
    {Flaw::begins_anew_after_the_end, "SaysForEverThatTheDataHaveEnded"},
    {Flaw::disguises_a_failure_as_the_end, "FailsForEverWithItsFailure"},
    {Flaw::forgets_its_failure, "FailsForEverWithItsFailure"},
    {Flaw::gives_a_block_to_everybody, "GivesEachRecordOnceToManyAskers"},
    {Flaw::never_answers_the_second, "GivesEachRecordOnceToManyAskers"},
    {Flaw::dies_with_an_asker, "GoesOnWhenAnAskerDies"},
    {Flaw::hoards, "ReadsAheadNoFurtherThanItMay"},
    {Flaw::forgets_who_waits_at_a_stop, "AnswersEverybodyWhenItIsStopped"},
    {Flaw::goes_on_after_a_stop, "AnswersEverybodyWhenItIsStopped"},
    {Flaw::forgets_who_waits_when_it_dies, "AnswersEverybodyWhenItDies"},
    {Flaw::is_one_off_in_snapshots, "GoesOnFromEverySnapshot"},
    {Flaw::forgets_the_number_of_a_block, "GoesOnFromEverySnapshot"},
    {Flaw::stays_at_the_end, "StartsAgainFromItsFirstSnapshot"},
    {Flaw::is_lost_after_a_refusal, "RefusesForeignSnapshotsUnharmed"},
    {Flaw::dies_of_a_foreign_snapshot, "RefusesForeignSnapshotsUnharmed"},
    {Flaw::counts_blocks, "CountsWhatItHandsOut"},
};

TEST(ReaderContract, FindsEveryFlawOfAnActor) {
  for (const auto& [flaw, promise] : kBroken)
    EXPECT_THAT(check_reader(list_with(flaw)), Contains(StartsWith(promise + ": ")))
        << "flaw " << static_cast<int>(flaw);
}

TEST(ReaderContract, NamesOnlyThePromiseThatIsBroken) {
  for (const auto flaw : {Flaw::leaves_out_a_number, Flaw::hides_where_records_stand,
                          Flaw::forgets_who_waits_when_it_dies, Flaw::hoards, Flaw::counts_blocks,
                          Flaw::takes_empty_limits_for_the_end}) {
    std::set<std::string> broken;
    for (const auto& failure : check_reader(list_with(flaw)))
      broken.insert(failure.substr(0, failure.find(':')));
    EXPECT_LE(broken.size(), 3u) << ::testing::PrintToString(broken);
  }
}

TEST(ReaderContract, SaysWhatIsWrong) {
  EXPECT_THAT(check_reader(list_with(Flaw::hoards)),
              Contains(HasSubstr("it had taken in 12 records when 0 had been asked for "
                                 "(ReaderOptions::read_ahead is 0)")));
  EXPECT_THAT(check_reader(list_with(Flaw::crowds_its_buffer)),
              Contains(HasSubstr("record list:1 stands at bytes 0 to 1 of a buffer of 129, but 64 "
                                 "readable bytes are needed on both sides")));
  EXPECT_THAT(check_reader(list_with(Flaw::is_one_off_in_snapshots)),
              Contains(HasSubstr("the records after the snapshot behind record 1 differ: record 0 "
                                 "is that of list:1, not that of list:2")));
}

TEST(ReaderContract, SaysWhatCouldNotBeChecked) {
  auto subject = list_with(Flaw::none);
  subject.spawn_damaged = {};
  subject.taken = {};
  std::set<std::string> skipped;
  for (const auto& clause : contract::reader_clauses()) {
    const auto outcome = contract::check(clause, subject);
    EXPECT_THAT(outcome.failures, IsEmpty()) << clause.name;
    if (!outcome.skipped.empty()) skipped.emplace(clause.name);
  }
  EXPECT_EQ(skipped, (std::set<std::string>{
                         "DescribesItself", "FailsForEverWithItsFailure", "GoesOnFromEveryPosition",
                         "ReadsAheadNoFurtherThanItMay", "RestartsWithItsFilesInAnyOrder"}));
}

TEST(ReaderContract, NeedsEnoughRecordsToTellRightFromWrong) {
  const auto subject = contract::reader_of(
      [] { return std::make_unique<test::ListedSource>(test::numbers_below(3)); });
  EXPECT_THAT(check_reader(subject), Contains(HasSubstr("there are only 3 records")));
}

TEST(ReaderContract, CatchesWhatASpawnerThrows) {
  ReaderSubject subject;
  subject.spawn = [](caf::actor_system&, const ReaderOptions&) -> Reader {
    fail(Code::not_found, "there is no data");
  };
  EXPECT_THAT(check_reader(subject), Contains(HasSubstr("it threw: there is no data")));
}

TEST(ReaderContract, IsForReadersWithThreadsOfTheirOwnToo) {
  ReaderSubject subject;
  subject.threads = true;
  subject.patience = std::chrono::seconds(100);
  subject.spawn = [](caf::actor_system& system, const ReaderOptions& reading) -> Reader {
    return system.spawn<caf::detached>(
        record_reader,
        std::shared_ptr<RecordSource>(
            std::make_shared<test::ListedSource>(test::numbers_below(12))),
        reading);
  };
  // The list gives one record at a time whatever the limits; the rest is in order.
  EXPECT_THAT(check_reader(subject), IsEmpty());
}

/// A source with something wrong.
class BrokenSource : public test::ListedSource {
 public:
  BrokenSource(bool forgets_to_restart, bool drifts, bool silent)
      : ListedSource(test::numbers_below(12)),
        forgets_to_restart_(forgets_to_restart),
        drifts_(drifts),
        silent_(silent) {}
  SourcePosition position() const override {
    auto position = ListedSource::position();
    if (drifts_) position.streams[0].skip = ++asked_;
    return position;
  }
  void restart(std::span<const std::size_t> order) override {
    if (!forgets_to_restart_) ListedSource::restart(file_order(order, 1));
  }
  std::string describe() const override { return silent_ ? "" : "a list"; }

 private:
  bool forgets_to_restart_;
  bool drifts_;
  bool silent_;
  mutable std::uint64_t asked_ = 0;
};

ReaderSubject source_with(bool forgets_to_restart, bool drifts, bool silent) {
  return contract::reader_of(
      [=] { return std::make_unique<BrokenSource>(forgets_to_restart, drifts, silent); });
}

TEST(ReaderContract, FindsEveryFlawOfASource) {
  EXPECT_THAT(check_reader(source_with(true, false, false)),
              Contains(StartsWith("RestartsWithItsFilesInAnyOrder: ")));
  EXPECT_THAT(check_reader(source_with(false, true, false)),
              Contains(StartsWith("GoesOnFromEveryPosition: position() after 0 records")));
  EXPECT_THAT(check_reader(source_with(false, false, true)),
              Contains(StartsWith("DescribesItself: ")));
  EXPECT_THAT(check_reader(source_with(false, false, false)), IsEmpty());
}

TEST(ReaderContract, HasNoPromiseThatCannotBeBroken) {
  std::set<std::string> broken = {"RestartsWithItsFilesInAnyOrder", "GoesOnFromEveryPosition",
                                  "DescribesItself"};
  for (const auto& [flaw, promise] : kBroken) broken.insert(promise);
  for (const auto& clause : contract::reader_clauses())
    EXPECT_TRUE(broken.contains(std::string(clause.name))) << clause.name;
}

}  // namespace
}  // namespace troupe
