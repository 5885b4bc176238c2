// What docs/ shows as C++ compiles: every snippet stands in this file or in a program of
// tests/install, up to white space. Change both together. (What the snippets do is tested
// where it is made; here they are only compiled.)

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iostream>
#include <mutex>
#include <thread>
#include <utility>

#include "actors/training_run.h"
#include "support/temporary_directory.h"
#include "troupe/actors/checkpoint/checkpoint_directory.h"
#include "troupe/actors/decoders/example_builder.h"
#include "troupe/actors/ensemble/combiner.h"
#include "troupe/actors/ensemble/ensemble_training.h"
#include "troupe/actors/ensemble/model_ensemble.h"
#include "troupe/actors/pipeline/arrays.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/pipeline/csv.h"
#include "troupe/actors/pipeline/feed.h"
#include "troupe/actors/pipeline/images.h"
#include "troupe/actors/pipeline/input_producers.h"
#include "troupe/actors/pipeline/libsvm.h"
#include "troupe/actors/pipeline/records.h"
#include "troupe/actors/readers/tfrecord_writer.h"
#include "troupe/actors/session.h"
#include "troupe/actors/stages/staged_training.h"
#include "troupe/actors/supervision/supervisor.h"
#include "troupe/actors/topology/model_catalog.h"
#include "troupe/actors/topology/topology_file.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/actors/training/training.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/state.h"
#include "troupe/queues/barrier.h"
#include "troupe/queues/fifo_queue.h"

// clang-format off
std::optional<troupe::Tensor> grab();

namespace {

using namespace troupe;

/// Member functions, because nobody calls them.
struct Tutorials {
  void one_file() {
#include <troupe/actors/pipeline/batch_iterator.h>   // pipelines of text and IDX files, too
#include <troupe/actors/pipeline/feed.h>             // Feed
#include <troupe/actors/pipeline/records.h>          // all other records
using namespace troupe;

auto examples = read_text({"x.txt"}).decode({numbers({4})});
BatchIterator batches(examples.buffer(100).batch(10, Remainder::keep));
while (const auto batch = batches.next())
  std::cout << batch->components[0].shape() << '\n';  // [10, 4], at the end perhaps [3, 4]
  }

  void in_random_order() {
auto examples = read_text({"x.txt"}).zip(read_text({"y.txt"})).repeat(5).decode({numbers({4}), numbers({1})});

auto batches = examples.shuffle({.capacity = 5000, .min_after_dequeue = 4000}).batch(100, Remainder::drop);
std::cout << batches.describe() << '\n';

auto small = examples
    .filter([](const Element& e) { return e[1].item() >= 0; })
    .map([](Element e) -> Element {
           auto scaled = e[0].cast(DType::float32);
           for (auto& value : scaled.write<float>()) value /= 255;
           return {scaled, e[1]};
         });

const auto bound = batches.memory(1);   // for one replica
std::cout << bound.total() << " bytes, of which the queue " << bound.queue << '\n';
  }

  void several_readers() {
auto examples = join({read_text({"part-0.txt"}).decode({numbers({4})}),
                      read_text({"part-1.txt"}).decode({numbers({4})})});
  }

  void different_lengths(ElementMap to_numbers) {
// Each line, a text, becomes its characters as numbers: int64 [?].
auto lines = read_text({"lines.txt"}).decode({raw_bytes(DType::string, {})});
auto texts = lines.map(to_numbers, {{DType::int64, {Shape::kUnknown}}});

texts.buffer(1000).padded_batch(32, Remainder::keep, {.values = {-1}});   // [32, longest of the 32]
texts.bucket_by_length({.boundaries = {20, 100}, .batch_sizes = {128, 64, 16}}, Remainder::keep);
  }

  void a_cut_model(Batches batches) {
StagedModel model;
model.input = {DType::float32, {-1, 784}};
model.labels = {DType::int64, {-1}};
model.stages = {
    nn::Sequential{nn::dense(2048, {.name = "fc1", .activation = relu})},
    nn::Sequential{nn::dense(2048, {.name = "fc2", .activation = relu})},
    nn::Sequential{nn::dense(10, {.name = "logits"})},
};
model.loss = [](Output logits, Output labels) { return nn::cross_entropy(logits, labels); };

StagedTrainingOptions options;
options.micro_batches = 8;
options.max_steps = 1000;
options.listener = [](const std::vector<StageReport>& stages) { std::cout << stages.back().loss << "\n"; };

StagedTraining training(model, batches, options);
std::puts(training.describe().c_str());
const TrainingOutcome outcome = training.run();
const std::vector<ShardSnapshot> weights = training.snapshots();
(void)outcome, (void)weights;
  }

  void kept_stages() {
StagedTrainingOptions kept;
kept.deterministic = true;
kept.checkpoints.directory = "run/stages";
kept.checkpoints.every = 100;  // steps; one at the end in any case
kept.checkpoints.resume = CheckpointDirectory("run/stages").latest().has_value();
  }

  void by_hand() {
Feed feed({{"image", {DType::float32, {28, 28, 1}}}});
std::thread camera([feed]() mutable {
  while (const auto image = grab()) feed.push({*image});
  feed.close();
});
auto batches = feed.examples().buffer(100).batch(10, Remainder::keep);
  }

  void cifar(std::uint64_t seed) {
auto batches =
read_cifar10({"data/data_batch_*.bin"})
    .repeat(0, seed)
    .decode({distort(cifar10(), {image::random_crop(24, 24), image::random_flip_left_right(),
                                 image::random_brightness(63), image::random_contrast(0.2, 1.8),
                                 image::standardize()}, seed)})
    .shuffle({.capacity = 20'000 + 3 * 128, .min_after_dequeue = 20'000})
    .batch(128, Remainder::drop)
;
  }

  void ensembles(ModelFunction mlp_model, ModelFunction cnn_model, Tensor images) {
ModelEnsemble ensemble({.combiner = probability_combiner()});
ensemble.join("mlp", mlp_model, "run/mlp");          // the newest checkpoint of a directory
ensemble.join("cnn", cnn_model, "run/cnn", 2.0);     // with twice the weight
const auto answer = ensemble.run({images});

ensemble.assign("mlp", "run/mlp/ckpt-3000");   // other weights, for the queries that come after
ensemble.leave("cnn");                         // returns once it has answered what it was asked

TrainingOptions live;
live.publish = {.every = 100, .to = [&](const Parameters& weights) {
                  ensemble.assign("cnn", weights);
                }};
  }

  void side_by_side(ModelFunction mlp_model, ModelFunction cnn_model, Batches train_batches,
                    Batches test_batches) {
TrainingOptions options;
options.optimizer = optim::adam();
options.learning_rate = 0.001;

EnsembleTrainingOptions together;
together.directory = "run/ensemble";           // checkpoints: run/ensemble/mlp, run/ensemble/cnn
together.evaluation = test_batches;
together.combiner = probability_combiner();
EnsembleTraining training({{"mlp", mlp_model, options}, {"cnn", cnn_model, options}},
                          train_batches, together);
const auto outcome = training.run();
for (const auto& member : outcome.members)
  std::cout << member.name << ' ' << member.training.steps << " steps, accuracy "
            << member.score.value_or(0) << '\n';
std::cout << "together " << outcome.together.value_or(0) << '\n';
together.directory = "run/ensemble";
together.resume = CheckpointDirectory("run/ensemble/mlp").latest().has_value();
EnsembleTraining again({{"mlp", mlp_model, options}, {"cnn", cnn_model, options}}, train_batches,
                       together);
  }
};

struct Pipelines {
  void arrays() {
#include <troupe/actors/pipeline/arrays.h>

auto batches = read_npz("train.npz", {"images", "labels"})   // two arrays, side by side
                   .repeat(10)
                   .decode({npz_rows("train.npz", "images", {.dtype = DType::float32, .scale = 1.0 / 255}),
                            npz_rows("train.npz", "labels")})
                   .shuffle({.capacity = 10'000, .min_after_dequeue = 1'000})
                   .batch(100, Remainder::drop);

auto rows = read_npy({"part-*.npy"})                          // several files, one after the other
                .decode({npy_rows("part-0.npy")})
                .buffer(1'000)
                .batch(100, Remainder::keep);
  }

  void libsvm() {
#include <troupe/actors/pipeline/libsvm.h>

auto batches = read_libsvm({"a9a.txt"})
                   .decode({libsvm_dense(123)})
                   .shuffle({.capacity = 10'000, .min_after_dequeue = 1'000})
                   .batch(100, Remainder::drop);
  }

  void csv_files() {
const std::vector<std::string> files = {"houses-*.csv.gz"};

auto batches =
    read_csv(files, {.header = true})
        .decode({csv_columns(
                    {csv::stack("features", {csv::required<float>("rooms"),
                                             csv::with_default("age", -1.0f)}),
                     csv::category("city", {"Rome", "Paris"}, csv::hash_unknown(100)),
                     csv::required<float>("price")},
                    {.na_value = "NA", .header = csv_header(files)})},
                {.skip_bad_records = 100, .quarantine = "bad.csv"})
        .shuffle({}).batch(128, Remainder::drop);
  }

  void image_files() {
#include "troupe/actors/pipeline/images.h"

constexpr std::uint64_t seed = 1;
auto batches =
    read_image_folder("train")            // train/cats/1.jpg, train/dogs/7.png, ...
        .repeat(10, seed)                 // ten epochs, each in another order
        .decode({distort(images(), {image::resize(256, 256), image::random_crop(224, 224),
                                    image::random_flip_left_right(), image::standardize()},
                         seed),
                 image_labels()})
        .shuffle({.capacity = 2'000, .min_after_dequeue = 500})
        .batch(64, Remainder::drop);

ImageStep invert{"invert()",
                 [](const TensorSpec& spec) { return spec; },  // what it makes of dtype and shape
                 [](Tensor image, RandomStream&) {
                   for (auto& value : image.write<float>()) value = 1 - value;
                   return image;
                 }};
  }

  void batch_iterator(void (*use)(const Tensor&)) {
BatchIterator batches(read_text({"x.txt"}).decode({numbers({4})}).buffer(100).batch(10, Remainder::keep));
while (const auto batch = batches.next()) use(batch->components[0]);
  }

  void feeds(Tensor x, Tensor y, Tensor xs, Tensor ys) {
Feed feed({{"x", {DType::float32, {4}}}, {"y", {DType::int64, {}}}});
auto batches = feed.examples().shuffle({.capacity = 1000, .min_after_dequeue = 100}).batch(10, Remainder::keep);
feed.push({x, y});                 // waits while the pipeline is full
feed.push({x, y}, Timeout(500));   // deadline_exceeded after half a second
feed.push_rows({xs, ys});          // every row of these
feed.close();                      // or feed.fail(Error(Code::unavailable, "the camera is gone"))
  }

  void tfrecords(std::uint64_t seed, std::vector<std::string> files) {
#include "troupe/actors/pipeline/records.h"

const auto batches =
    read_tfrecord({"data/train-*.tfrecord.gz"})
        .repeat(10, /*shuffle_files=*/seed)
        .decode({example_features({{"image", DType::uint8, {28, 28, 1}, {}, /*raw=*/true},
                                   {"label", DType::int64}})})
        .shuffle({.capacity = 10'000, .min_after_dequeue = 5'000})
        .batch(128, Remainder::drop);

const auto report = std::make_shared<FileReport>();
TFRecordOptions options;
options.policy = {.damaged = FileAction::skip, .report = report};
read_tfrecord(files, options);
  }

  void written_tfrecords(std::vector<std::pair<std::string, std::int64_t>> examples) {
#include "troupe/actors/decoders/example_builder.h"
#include "troupe/actors/readers/tfrecord_writer.h"

TFRecordWriter writer("train.tfrecord.gz");
for (const auto& [image, label] : examples)
  writer.write(ExampleBuilder().bytes("image", {{image}}).ints("label", {{label}}).message());
writer.close();
  }
};

struct Queues {
  void fifo(Troupe& troupe, caf::event_based_actor* self, ElementBlock block) {
#include <troupe/queues/fifo_queue.h>

QueueOptions options;
options.name = "examples";
options.capacity = 1000;
options.components = {{"image", {DType::float32, {28, 28, 1}}}, {"label", {DType::int64, {}}}};
Queue queue = troupe.spawn("examples", fifo_queue, options);

self->request(queue, caf::infinite, enqueue_atom_v, block, EnqueueOptions{});       // ElementBlock
self->request(queue, caf::infinite, dequeue_atom_v, DequeueRequest{128});           // -> Batch
  }

  void expected(Troupe& troupe, Queue queue, Producer camera) {
troupe.tell(queue, expect_atom_v, "camera", caf::actor_cast<caf::actor>(camera));
  }

  void padding() {
QueueOptions options;
options.components = {{"words", {DType::int64, {-1}}}};
options.padding = ElementPadding{{-1}};
// {1}, {2, 3, 4}, {5, 6}  ->  [[1, -1, -1], [2, 3, 4], [5, 6, -1]]
  }

  void barriers(Troupe& troupe, caf::event_based_actor* self, Tensor images, Tensor labels) {
#include <troupe/queues/barrier.h>

BarrierOptions options;
options.name = "pairs";
options.components = {{"image", {DType::float32, {2}}}, {"label", {DType::int64, {}}}};
Barrier pairs = troupe.spawn("pairs", barrier, options);

// component 0 of two keys; values has a row for each
self->request(pairs, caf::infinite, insert_atom_v, BarrierInsert{0, {"a", "b"}, images});
self->request(pairs, caf::infinite, insert_atom_v, BarrierInsert{1, {"b"}, labels});
self->request(pairs, caf::infinite, take_atom_v, DequeueRequest{1});   // -> keys {"b"}, components
  }

  void producers(Troupe& troupe, Tensor images, Tensor labels) {
InputProducer names = string_input_producer(troupe, "names", {"data/part-*.csv"},
                                            {.epochs = 3, .shuffle = true, .seed = 1});
InputProducer numbers = range_input_producer(troupe, "numbers", 10);
InputProducer rows = slice_input_producer(troupe, "rows", {images, labels});
  }

  void going_on(Troupe& troupe, InputProducer names, std::chrono::milliseconds patience) {
const auto at = troupe.ask<ReaderSnapshot>(names.producer, patience, snapshot_atom_v);
InputProducer rest = string_input_producer(troupe, "names", {"data/part-*.csv"},
                                           {.epochs = 3, .shuffle = true, .seed = 1,
                                            .position = at.position});
  }

  void shared(Troupe& troupe, QueueOptions options) {
Queue examples = troupe.shared().fifo_queue({"examples"}, options);           // here ...
Queue same = troupe.shared().fifo_queue({"examples"}, options);               // ... and there
Queue other = troupe.shared().fifo_queue({"examples", "container"}, options); // another one
  }

  void loaded_once(Troupe& troupe, Session& session, Output loss, Output x, Tensor batch,
                   Tensor (*load_table)(), void (*my_actor)(caf::event_based_actor*, Tensor)) {
const Tensor table = load_table();                       // once
troupe.spawn("a", my_actor, table);                      // both have the same memory
troupe.spawn("b", my_actor, table);

session.set_variable("table", table);
session.run({loss}, {{x, batch}});
  }

  void explained(ModelFunction model, Batches data, TrainingOptions options) {
Training training(model, data, options);
const auto outcome = training.run();
const Explanation explanation = training.explain();
std::cout << summary(explanation, KnobStyle::options);
if (explanation.finding.limit == Limit::decoders) std::cout << "use more of them\n";
  }

  void killed_at_any_moment(ModelFunction model, Batches batches) {
TrainingOptions options;
options.deterministic = true;
options.checkpoints.directory = "run";
options.checkpoints.every = 100;                     // steps
options.checkpoints.resume = CheckpointDirectory("run").latest().has_value();
const TrainingOutcome outcome = Training(model, batches, options).run();
  }

  void no_better(TrainingOptions options, Batches test_batches) {
options.evaluation.data = test_batches;
options.evaluation.every = 100;
options.evaluation.best_by = "accuracy";
options.evaluation.larger_is_better = true;
options.evaluation.patience = 5;       // evaluations in a row that are no better
options.evaluation.min_delta = 0.001;  // better by less is no better
options.evaluation.answer_best = true;
options.checkpoints.keep_best = 1;
  }

  void recorded(ModelFunction model, Batches batches) {
TrainingOptions options;
options.replicas = 4;
options.aggregation.policy = "ssp:2";
options.aggregation.record = "recording";  // the next time: .replay = "recording"
const TrainingOutcome outcome = Training(model, batches, options).run();
  }

  void another_policy(ModelFunction model, Batches data, TrainingOptions options) {
options.events = [](const std::string& words) { std::cerr << words << '\n'; };
Training training(model, data, options);  // options.aggregation.policy is "sync"
std::thread later([&] { training.change_policy("ssp:2"); });
training.run();
later.join();
  }

  void model_in_files(const std::string& path) {
  register_model("two_layers", [](const OptionMap& options) -> ModelFunction {
    const auto hidden = options.integer("hidden", 64, 1, 4096);
    return [hidden](bool) {
      Model m;
      m.graph = std::make_shared<Graph>();
      const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 4});
      const auto y = placeholder(*m.graph, "y", DType::float32, {-1, 1});
      m.inputs = {x, y};
      m.predictions = nn::dense(nn::dense(x, hidden, {.activation = relu}), 1);
      m.loss = nn::mean_squared_error(m.predictions, y);
      return m;
    };
  });
  const auto file = read_topology(path, {{"model.program.option[hidden].value[0]", "16"}});
  Training training(file.model, file.data, file.options);
  const auto outcome = training.run();
  }

  void topology_in_a_file(const std::string& path) {
  const auto file = read_topology(path, {{"replicas", "2"}});
  Training training(file.model, file.data, file.options);
  const auto outcome = training.run();
  }

  void restarts(TrainingOptions options) {
options.restarts.most = 3;                               // in any `period`, all replicas together
options.restarts.period = std::chrono::minutes(10);
options.restarts.delay = std::chrono::milliseconds(100); // twice as long each time, up to
options.restarts.longest_delay = std::chrono::seconds(10);
  }

  void come_and_go(ModelFunction model, Batches data, TrainingOptions options) {
std::atomic<bool> begun = false;
const auto begin = [&] {
  begun = true;
  begun.notify_one();
};
options.progress = [&](const Progress&) { begin(); };
Training training(model, data, options);
std::thread later([&] {
  begun.wait(false);                    // until run() is at work
  try {
    training.add_replica();             // "replica 2", if there were two
    training.remove_replica("replica 0");
    training.set_replicas(4);
  } catch (const Error& error) {        // the run has ended meanwhile
    std::cerr << error.what() << '\n';
  }
});
const auto outcome = training.run();
begin();                                // whoever still waits
later.join();
  }

  void readers_come_and_go(Training& training) {
training.add_reader();             // "reader 1"
training.remove_reader("reader");  // the newest one without a name
training.set_readers(3);
training.add_decoder();            // and remove_decoder
training.set_decoders(8);          // of all readers together
  }

  void killed(Training& training) {
for (const auto& name : training.members()) std::cout << name << '\n';
training.kill("replica 1");
  }

  void supervised(caf::actor_system& system,
                  std::function<caf::actor(std::uint32_t)> start_source,
                  std::function<caf::actor(std::uint32_t)> start_sink) {
SupervisorOptions options;
options.children = {
    {"source", start_source, Strategy::rest_for_one},  // the sink is started again with it
    {"sink", start_sink},
};
options.restarts.most = 5;
options.events = [](const std::string& words) { std::cerr << words << '\n'; };
const auto leader = system.spawn(supervisor, options);
  }
};
// clang-format on

using DocsOfARun = test::ATrainingRun;
TEST_F(DocsOfARun, ChangeWhoTakesPartWhileItGoesOn) {
  auto o = options();
  o.deterministic = false;
  o.replicas = 2;
  o.progress_interval = std::chrono::milliseconds(1);
  std::mutex mutex;
  std::string heard;
  o.events = [&](const std::string& words) {
    const std::lock_guard guard(mutex);
    heard += words + '\n';
  };
  for (const auto steps : {1, 5000}) {  // also of a run that is over at once
    o.max_steps = static_cast<std::uint64_t>(steps);
    Queues().come_and_go(test::small_model, batches(0), o);
  }
  EXPECT_NE(heard.find("replica 4 joins"), heard.npos) << heard;
}

/// Without white space.
std::string dense(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
  return text;
}

TEST(Docs, ShowCodeThatCompiles) {
  std::string compiled;
  for (const std::string folder : {"tests/docs", "tests/install"})
    for (const auto& file : std::filesystem::directory_iterator(folder))
      compiled += dense(test::read_file(file.path()));
  int snippets = 0;
  for (const std::string folder : {"docs/tutorials", "docs/reference"})
    for (const auto& page : std::filesystem::directory_iterator(folder)) {
      const auto words = test::read_file(page.path());
      const std::string fence = "```cpp\n";
      for (auto at = words.find(fence); at != words.npos; at = words.find(fence, at)) {
        at += fence.size();
        const auto code = words.substr(at, words.find("```", at) - at);
        EXPECT_NE(compiled.find(dense(code)), compiled.npos)
            << page.path() << " shows what no test compiles:\n"
            << code;
        ++snippets;
      }
    }
  EXPECT_GT(snippets, 20);
}

}  // namespace
