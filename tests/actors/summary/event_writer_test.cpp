#include "troupe/actors/summary/event_writer.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/messages/crc32c.h"
#include "troupe/messages/proto/event.pb.h"

namespace troupe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <class T>
T take(std::string& bytes) {
  T value{};
  if (bytes.size() < sizeof value) fail(Code::data_loss, "the file ends inside a record");
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.erase(0, sizeof value);
  return value;
}

/// The events of a file; throws when its framing is not that of TFRecords.
std::vector<proto::Event> read_events(const std::string& path) {
  auto bytes = test::read_file(path);
  std::vector<proto::Event> events;
  while (!bytes.empty()) {
    const auto length = take<std::uint64_t>(bytes);
    if (take<std::uint32_t>(bytes) != mask_crc32c(crc32c(&length, sizeof length)))
      fail(Code::data_loss, "the checksum of a length does not match");
    const auto record = bytes.substr(0, length);
    bytes.erase(0, length);
    if (take<std::uint32_t>(bytes) != mask_crc32c(crc32c(record)))
      fail(Code::data_loss, "the checksum of a record does not match");
    if (!events.emplace_back().ParseFromString(record))
      fail(Code::data_loss, "a record is not an event");
  }
  return events;
}

class EventFile : public testing::Test {
 protected:
  using Seconds = std::chrono::duration<double>;
  void advance(std::chrono::milliseconds by) { time += by; }

  std::chrono::system_clock::time_point time{std::chrono::milliseconds(1'700'000'000'250)};
  test::TemporaryDirectory directory;
  EventWriterOptions options{.now = [this] { return time; }};
};

TEST_F(EventFile, BeginsWithItsVersionAndIsNamedAfterTimeAndHost) {
  const EventWriter writer(directory / "run", options);
  EXPECT_THAT(writer.path(), HasSubstr(directory / "run/events.out.tfevents.1700000000."));
  const auto events = read_events(writer.path());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].file_version(), "brain.Event:2");
  EXPECT_NEAR(events[0].wall_time(), 1'700'000'000.25, 1e-6);
}

TEST_F(EventFile, HoldsScalarsInOrder) {
  EventWriter writer(directory.path(), options);
  writer.scalar("train/loss", 7, 0.5);
  writer.scalar("train/loss", 8, 0.25);
  writer.flush();
  const auto events = read_events(writer.path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[2].step(), 8);
  EXPECT_EQ(events[2].summary().value(0).tag(), "train/loss");
  EXPECT_EQ(events[2].summary().value(0).simple_value(), 0.25f);
}

TEST_F(EventFile, HoldsTexts) {
  EventWriter writer(directory.path(), options);
  writer.text("command", 0, "troupe train");
  writer.flush();
  const auto value = read_events(writer.path()).at(1).summary().value(0);
  EXPECT_EQ(value.metadata().plugin_data().plugin_name(), "text");
  EXPECT_EQ(value.tensor().string_val(0), "troupe train");
}

TEST_F(EventFile, HoldsHistogramsAsTensorFlowWritesThem) {
  const auto largest = std::numeric_limits<double>::max();
  Histogram values;
  values.add(Tensor::of<double>({8}, {0, 1e-12, -1e-12, -1e-13, 1, 1, 1e300, -1e300}));
  EventWriter writer(directory.path(), options);
  writer.histogram("weights", 3, values);
  writer.flush();
  const auto histogram = read_events(writer.path()).at(1).summary().value(0).histo();
  EXPECT_EQ(histogram.num(), 8);
  EXPECT_EQ(histogram.min(), -1e300);
  EXPECT_EQ(histogram.max(), 1e300);
  // From tf.compat.v1.summary.histogram, TensorFlow 2.21: empty neighbours are joined.
  EXPECT_THAT(
      histogram.bucket_limit(),
      ElementsAre(-largest, -9.920775621859783e+19, -1e-12, 0.0, 1e-12, 1.1000000000000002e-12,
                  0.917246389039776, 1.0089710279437536, 9.920775621859783e+19, largest));
  EXPECT_THAT(histogram.bucket(), ElementsAre(0, 1, 0, 2, 1, 1, 0, 2, 0, 1));
}

TEST_F(EventFile, IsFlushedWhenAnEventGetsOld) {
  EventWriter writer(directory.path(), options);
  advance(std::chrono::milliseconds(4999));
  writer.scalar("loss", 1, 1);
  EXPECT_EQ(read_events(writer.path()).size(), 1u);
  advance(std::chrono::milliseconds(1));
  writer.scalar("loss", 2, 1);
  EXPECT_EQ(read_events(writer.path()).size(), 3u);
}

TEST_F(EventFile, IsFlushedWhenTheBufferIsFullAndAtTheEnd) {
  options.buffer = 1000;
  std::string path;
  {
    EventWriter writer(directory.path(), options);
    path = writer.path();
    writer.text("long", 1, std::string(1000, 'x'));
    EXPECT_EQ(read_events(path).size(), 2u);
    writer.scalar("loss", 2, 1);
  }
  EXPECT_EQ(read_events(path).size(), 3u);
}

TEST_F(EventFile, IsNeverSharedByTwoWriters) {
  const EventWriter one(directory.path(), options);
  const EventWriter two(directory.path(), options);
  EXPECT_NE(one.path(), two.path());
}

TEST_F(EventFile, SaysWhyItCannotBeWritten) {
  test::write_file(directory / "file", "");
  EXPECT_THAT(test::error_of([&] { EventWriter writer(directory / "file", options); }),
              test::IsError(Code::unavailable, HasSubstr("cannot create " + directory / "file")));
}

TEST(Histogram, TakesTheLargestAndSmallestOfDoubles) {
  Histogram values;
  values.add(std::numeric_limits<double>::max());
  values.add(std::numeric_limits<double>::lowest());
  EXPECT_EQ(values.buckets().back(), 1);
  EXPECT_EQ(values.buckets()[1], 1);
}

TEST(Histogram, CountsValuesThatAreNotFiniteApart) {
  Histogram values;
  values.add(Tensor::of<double>({3}, {1, NAN, INFINITY}));
  EXPECT_EQ(values.count(), 1);
  EXPECT_EQ(values.not_finite(), 2);
  EXPECT_EQ(values.max(), 1);
}

TEST(Histogram, KeepsSumAndSumOfSquares) {
  Histogram values;
  values.add(Tensor::of<float>({3}, {1, -2, 3}));
  EXPECT_EQ(values.sum(), 2);
  EXPECT_EQ(values.sum_of_squares(), 14);
}

TEST(Histogram, TakesEveryNumericDtype) {
  for (const auto type :
       {DType::float64, DType::float32, DType::bfloat16, DType::float16, DType::int8, DType::int16,
        DType::int32, DType::int64, DType::uint8, DType::boolean}) {
    Histogram values;
    values.add(Tensor::of<float>({2}, {0, 1}).cast(type));
    EXPECT_EQ(values.sum(), 1) << type;
  }
  Histogram values;
  EXPECT_THROW(values.add(Tensor(DType::string, {1})), Error);
}

}  // namespace
}  // namespace troupe
