// How fast image files become tensors in a queue: one reader, 1 or 2 decoders.
//
//   python bench/peers/images_tf.py --make DIRECTORY   # writes the files
//   build/bench/bench/image_benchmark DIRECTORY [options of Google Benchmark]
//
// DIRECTORY has the folders jpeg, png and small. Files are in the page cache after the
// first round. bench/peers/images_tf.py measures tf.data on the same files. On a machine
// that others use, per_cpu_second is what can be compared.

#include <benchmark/benchmark.h>

#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <cstdio>
#include <ctime>

#include "troupe/actors/decoders/decoder.h"
#include "troupe/actors/decoders/image_decoder.h"
#include "troupe/actors/decoders/number_decoder.h"
#include "troupe/actors/readers/labelled_file_source.h"
#include "troupe/actors/readers/reader.h"
#include "troupe/messages/system_config.h"
#include "troupe/ops/error.h"
#include "troupe/queues/fifo_queue.h"

namespace troupe {
namespace {

using FilesPtr = std::shared_ptr<const LabelledFiles>;

void consume(caf::event_based_actor* self, const Queue& queue, const caf::actor& whom,
             std::int64_t done) {
  self->request(queue, caf::infinite, dequeue_atom_v, DequeueRequest{1, true})
      .then([=](const Batch& batch) { consume(self, queue, whom, done + batch.rows()); },
            [=](const caf::error&) { self->send(whom, done); });
}

std::shared_ptr<TupleDecoder> image_and_label(const ImageDecoderOptions& options) {
  NumberDecoderOptions label;
  label.dtype = DType::int64;
  return std::make_shared<TupleDecoder>(std::vector<std::shared_ptr<RecordDecoder>>{
      std::make_shared<ImageDecoder>(options), std::make_shared<NumberDecoder>(label)});
}

/// Reads and decodes all files, with that many decoders and as many workers.
void read_and_decode(benchmark::State& state, const FilesPtr& files, ImageDecoderOptions options,
                     int decoders) {
  SystemConfig config({decoders, 1});
  caf::actor_system system(config);
  caf::scoped_actor self{system};
  const auto count = static_cast<std::int64_t>(files->files.size());
  const auto start = std::clock();  // of the CPU time of all threads
  for (auto _ : state) {
    const std::shared_ptr<RecordSource> source =
        std::make_shared<LabelledFileSource>(LabelledFileOptions{.files = files});
    ReaderOptions reading;
    reading.limits.records = 16;
    const Reader reader = system.spawn<caf::detached>(record_reader, source, reading);
    QueueOptions queueing;
    queueing.capacity = 64;
    queueing.producers = decoders;
    const Queue queue = system.spawn(fifo_queue, queueing);
    system.spawn(consume, queue, caf::actor_cast<caf::actor>(self), std::int64_t{0});
    for (int i = 0; i < decoders; ++i)
      caf::anon_send(system.spawn(decoder, reader, queue, image_and_label(options)), start_atom_v);
    self->receive([&](std::int64_t done) {
      if (done != count) state.SkipWithError("images are missing");
    });
  }
  state.SetItemsProcessed(state.iterations() * count);
  state.counters["per_cpu_second"] = static_cast<double>(state.iterations() * count) *
                                     CLOCKS_PER_SEC / static_cast<double>(std::clock() - start);
}

void add(const std::string& name, const std::string& folder, const ImageDecoderOptions& options) {
  const auto files = std::make_shared<const LabelledFiles>(files_by_folder(folder));
  for (const int decoders : {1, 2})
    benchmark::RegisterBenchmark(
        text(name, "/", decoders).c_str(),
        [=](benchmark::State& state) { read_and_decode(state, files, options, decoders); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
}

}  // namespace
}  // namespace troupe

int main(int argc, char** argv) try {
  using namespace troupe;
  benchmark::Initialize(&argc, argv);
  if (argc != 2) fail(Code::invalid_argument, "usage: image_benchmark DIRECTORY");
  const std::string directory = argv[1];
  add("jpeg", directory + "/jpeg", {});
  add("jpeg_fast", directory + "/jpeg", {.jpeg = {.fast_dct = true, .fancy_upsampling = false}});
  add("jpeg_half", directory + "/jpeg", {.jpeg = {.denominator = 2}});
  add("png", directory + "/png", {});
  add("small", directory + "/small", {});
  benchmark::RunSpecifiedBenchmarks();
} catch (const troupe::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
