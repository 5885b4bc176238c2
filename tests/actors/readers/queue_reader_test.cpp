#include "troupe/actors/readers/queue_reader.h"

#include <gmock/gmock.h>

#include "actors/readers/record_files.h"
#include "support/actor_test.h"
#include "troupe/actors/readers/text_line_source.h"
#include "troupe/queues/fifo_queue.h"

namespace troupe {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

class QueueReaderTest : public test::ActorTest {
 protected:
  QueueReaderTest() {
    test::write_file(directory / "a", "a1\na2\na3\n");
    test::write_file(directory / "b", "");
    test::write_file(directory / "c", "c1\nc2\n");
  }

  static QueueOptions names_options() {
    QueueOptions options;
    options.name = "names";
    return options;
  }
  static Element name_element(const std::string& name) { return {Tensor::scalar(name)}; }
  void enqueue(std::vector<Element> elements) {
    ask<caf::ok_atom>(names, enqueue_atom_v, ElementBlock{0, std::move(elements)},
                      EnqueueOptions{});
  }
  void enqueue_files(const std::vector<std::string>& files) {
    std::vector<Element> elements;
    for (const auto& file : files) elements.push_back(name_element(directory / file));
    enqueue(std::move(elements));
  }
  void close(const CloseReason& reason = {}) {
    ask<caf::ok_atom>(names, caf::close_atom_v, CloseRequest{false, reason});
  }
  Reader reader(std::size_t read_ahead = 1, std::size_t records = 1) {
    const auto report = std::make_shared<FileReport>();
    const FileOpener open = [report](const std::string& path) {
      TextLineOptions options{.files = {path}, .allow_empty = true};
      options.policy.missing = FileAction::skip;
      options.policy.report = report;
      return std::make_unique<TextLineSource>(options);
    };
    QueueReaderOptions options;
    options.limits.records = records;
    options.read_ahead = read_ahead;
    options.report = report;
    return spawn(queue_reader, names, open, options);
  }
  auto next(const Reader& reader) { return ask<RecordBlock>(reader, next_atom_v); }
  /// "a:1 a1" for each record until the reader has no more, or so many.
  std::vector<std::string> read(const Reader& reader, std::size_t most = 1000) {
    std::vector<std::string> records;
    while (records.size() < most) {
      const auto answer = next(reader);
      if (!answer->value) {
        words = answer->words();
        break;
      }
      const auto& run = answer->value->streams.at(0);
      for (std::size_t i = 0; i < run.count(); ++i) {
        const auto place = run.place(i);
        records.push_back(place.substr(place.rfind('/') + 1) + " " +
                          std::string(run.begin(i), run.end(i)));
      }
    }
    return records;
  }
  std::int64_t names_left() { return ask<QueueStatus>(names, status_atom_v)->value->size; }
  ReaderSnapshot snapshot(const Reader& reader) {
    return *ask<ReaderSnapshot>(reader, snapshot_atom_v)->value;
  }
  auto restore(const Reader& reader, const ReaderSnapshot& snapshot) {
    return ask<caf::ok_atom>(reader, restore_atom_v, snapshot);
  }

  test::TemporaryDirectory directory;
  Queue names = spawn(fifo_queue, names_options());
  std::string words;  // of the error that ended read()
};

TEST_F(QueueReaderTest, ReadsTheFilesThatTheQueueNames) {
  enqueue_files({"a", "b", "c"});
  close();
  EXPECT_THAT(read(reader()), ElementsAre("a:1 a1", "a:2 a2", "a:3 a3", "c:1 c1", "c:2 c2"));
  EXPECT_THAT(words, AllOf(StartsWith("out of range: "), HasSubstr("'names' is closed"),
                           HasSubstr("b has no record")));
}

TEST_F(QueueReaderTest, TakesANameOnlyWhenItNeedsAFile) {
  enqueue_files({"a", "c", "a"});
  const auto r = reader(0, 2);
  EXPECT_EQ(names_left(), 3);
  EXPECT_EQ(next(r)->value->count(), 2u);
  EXPECT_EQ(names_left(), 2);
  EXPECT_EQ(next(r)->value->count(), 1u);
  EXPECT_EQ(names_left(), 2);
  next(r);
  EXPECT_EQ(names_left(), 1);
}

TEST_F(QueueReaderTest, WaitsForANameAndNumbersItsBlocks) {
  const auto r = reader();
  const auto first = next(r);
  EXPECT_TRUE(first->pending());
  enqueue_files({"c"});
  EXPECT_EQ(first->value->sequence, 0u);
  EXPECT_EQ(next(r)->value->sequence, 1u);
}

TEST_F(QueueReaderTest, SharesAQueueWithOthers) {
  enqueue_files({"a", "c", "b"});
  close();
  const auto one = reader(0), two = reader(0);
  auto all = read(one, 1);
  for (auto& record : read(two)) all.push_back(std::move(record));
  for (auto& record : read(one)) all.push_back(std::move(record));
  EXPECT_THAT(all, UnorderedElementsAre("a:1 a1", "a:2 a2", "a:3 a3", "c:1 c1", "c:2 c2"));
}

TEST_F(QueueReaderTest, PassesTheFailureOfTheQueueOn) {
  enqueue_files({"c"});
  close({Code::permission_denied, "the list may not be read"});
  EXPECT_EQ(read(reader()).size(), 2u);
  EXPECT_THAT(words, AllOf(StartsWith("permission denied: "), HasSubstr("may not be read")));
}

TEST_F(QueueReaderTest, SaysWhatWasLeftOut) {
  enqueue_files({"none", "c"});
  close();
  EXPECT_EQ(read(reader()).size(), 2u);
  EXPECT_THAT(words, HasSubstr("1 file was left out, wholly or in part, the first: cannot read"));
}

TEST_F(QueueReaderTest, FailsForWhatIsNoName) {
  enqueue({{Tensor::scalar<std::int64_t>(7)}});
  EXPECT_THAT(read(reader()), IsEmpty());
  EXPECT_THAT(words, HasSubstr("one string, not int64 []"));
}

TEST_F(QueueReaderTest, FailsForElementsOfSeveralComponents) {
  enqueue({{Tensor::scalar(std::string("a")), Tensor::scalar(std::string("b"))}});
  read(reader());
  EXPECT_THAT(words, HasSubstr("has one component, not 2"));
}

/// Whatever is read ahead: the snapshot and the names that were left give the rest.
TEST_F(QueueReaderTest, GoesOnFromAnySnapshot) {
  const std::vector<std::string> files{"a", "b", "c", "a", "c"};
  const auto all = [&] {
    enqueue_files(files);
    const auto r = reader();
    return read(r, 10);
  }();
  ASSERT_EQ(all.size(), 10u);
  for (const std::size_t read_ahead : {0, 1, 4, 20})
    for (const std::size_t records : {1, 2}) {
      for (std::size_t done = 0; done <= 10; done += records) {
        names = spawn(fifo_queue, names_options());
        enqueue_files(files);
        const auto first = reader(read_ahead, records);
        const auto before = read(first, done);
        const auto place = snapshot(first);
        const auto left = names_left();
        names = spawn(fifo_queue, names_options());
        const auto second = reader(read_ahead, records);
        restore(second, place);
        enqueue_files({files.end() - left, files.end()});
        close();
        auto both = before;
        for (auto& record : read(second)) both.push_back(std::move(record));
        EXPECT_EQ(both, all) << done << " records, then " << place.position;
      }
    }
}

TEST_F(QueueReaderTest, RefusesWhatIsNoSnapshot) {
  const auto r = reader();
  for (const auto* position : {"x", "99:a", "1:", "1:aepoch x", "1:a"})
    EXPECT_THAT(restore(r, {position, 0})->words(), StartsWith("data loss: not the position of a"))
        << position;
  enqueue_files({"c"});
  EXPECT_EQ(read(r, 2).size(), 2u);
}

TEST_F(QueueReaderTest, AnswersCancelledAfterItWasStopped) {
  const auto r = reader();
  const auto waiting = next(r);
  ask<caf::ok_atom>(r, stop_atom_v);
  EXPECT_EQ(waiting->words(), "cancelled: the reader has been stopped");
  EXPECT_EQ(next(r)->words(), "cancelled: the reader has been stopped");
}

TEST_F(QueueReaderTest, SaysHowItSpendsItsTime) {
  enqueue_files({"a"});
  const auto r = reader();
  read(r, 3);
  const auto status = *ask<StageStatus>(r, status_atom_v)->value;
  EXPECT_EQ(status.records, 3u);
  EXPECT_EQ(status.bytes, 6u);
}

}  // namespace
}  // namespace troupe
