// An input pipeline of queues, first put together by hand: a queue of file names that is
// fed and closed, a reader that skips headers, CSV with record defaults, a random shuffle
// queue of instances, dequeue up to. Then the same as a pipeline, in five lines.
// Run: input_pipeline [file.csv ...]; without a file it writes one of seven instances.
// Expect twice batches of 3, 3 and 1 instances in random order, and why there are no more.

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "troupe/actors/decoders/decoder.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/pipeline/csv.h"
#include "troupe/actors/pipeline/records.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/ops/error.h"
#include "troupe/queues/fifo_queue.h"
#include "troupe/queues/random_shuffle_queue.h"

using namespace troupe;

namespace {

constexpr std::chrono::seconds kPatience{10};
constexpr std::int64_t kRows = 3;

/// Two features and a target; what is missing becomes -1.
DecoderFactory instances_of_lines() {
  return csv_columns(
      {csv::stack("features", {csv::with_default("x1", -1.0F), csv::with_default("x2", -1.0F)}),
       csv::with_default("target", std::int32_t{-1})});
}

void print(const Batch& batch) {
  std::printf("%ld instances:", static_cast<long>(batch.rows()));
  const auto features = batch.components[0].read<float>();
  const auto targets = batch.components[1].read<std::int32_t>();
  for (std::size_t i = 0; i < targets.size(); ++i)
    std::printf("  (%g, %g) -> %d", features[2 * i], features[2 * i + 1], targets[i]);
  std::printf("\n");
}

void by_hand(const std::vector<std::string>& files) {
  Troupe troupe({.inter_op = 2, .intra_op = 1});

  QueueOptions names;
  names.name = "filename_q";
  names.capacity = 10;
  names.components = {{"file", {DType::string, {}}}};
  const auto filenames = troupe.spawn("filename queue", fifo_queue, names);

  RandomShuffleQueueOptions shuffling;
  shuffling.name = "instance_q";
  shuffling.capacity = 10;
  shuffling.min_after_dequeue = 2;
  shuffling.components = {{"features", {DType::float32, {2}}}, {"target", {DType::int32, {}}}};
  const auto instances = troupe.spawn("instance queue", random_shuffle_queue, shuffling);

  const auto reader = troupe.spawn<caf::detached>(
      "reader", queue_reader, filenames, lines({.skip_header_lines = 1}), QueueReaderOptions{});
  const auto lines_to_instances =
      troupe.spawn("decoder", decoder, reader, instances,
                   std::make_shared<TupleDecoder>(
                       std::vector<std::shared_ptr<RecordDecoder>>{instances_of_lines()()}));
  troupe.tell(lines_to_instances, start_atom_v);

  for (const auto& file : files)
    troupe.ask<caf::ok_atom>(filenames, kPatience, enqueue_atom_v,
                             ElementBlock{0, {{Tensor::scalar(file)}}}, EnqueueOptions{});
  troupe.ask<caf::ok_atom>(filenames, kPatience, caf::close_atom_v, CloseRequest{});

  try {
    while (true)
      print(troupe.ask<Batch>(instances, kPatience, dequeue_atom_v, DequeueRequest{kRows, true}));
  } catch (const Error& end) {
    if (end.code() != Code::out_of_range) throw;
    std::printf("%s\n", end.what());
  }
}

void as_a_pipeline(const std::vector<std::string>& files) {
  const auto batches = read_lines(files, {.skip_header_lines = 1})
                           .decode({instances_of_lines()})
                           .shuffle({.capacity = 10, .min_after_dequeue = 3})
                           .batch(kRows, Remainder::keep);
  std::printf("\n%s\n", batches.describe().c_str());
  BatchIterator iterator(batches);
  while (const auto batch = iterator.next()) print(*batch);
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<std::string> files(argv + 1, argv + argc);
  if (files.empty()) {
    files = {(std::filesystem::temp_directory_path() / "my_test.csv").string()};
    std::ofstream(files[0]) << "x1,x2,target\n1,2,0\n3,4,1\n5,,0\n7,8,1\n,10,0\n11,12,1\n13,14,\n";
  }
  by_hand(files);
  as_a_pipeline(files);
  return 0;
} catch (const Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
