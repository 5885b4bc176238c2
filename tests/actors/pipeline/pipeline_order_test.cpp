// Readers and decoders come and go, and the pipeline is cut, in any order of the messages.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <random>

#include "support/actor_test.h"
#include "support/temporary_directory.h"
#include "troupe/actors/decoders/number_decoder.h"
#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/pipeline/pipeline_keeper.h"
#include "troupe/actors/readers/reader.h"
#include "troupe/messages/fault.h"
#include "troupe/queues/fifo_queue.h"

namespace troupe {
namespace {

using Ids = std::vector<std::int64_t>;

class PipelineInAnyOrder : public test::ActorTest {
 protected:
  static constexpr int kFiles = 3;
  static constexpr std::int64_t kEpochs = 2;

  PipelineInAnyOrder() {
    std::vector<std::string> files;
    for (int file = 0; file < kFiles; ++file) {
      files.push_back(directory_ / std::to_string(file));
      std::ofstream out(files.back());
      for (int i = 0; i < 5 + 2 * file; ++i) {
        expected_.insert(expected_.end(), kEpochs, id_);
        out << id_++ << '\n';
      }
    }
    records_.emplace(read_text(files).repeat(kEpochs, 5));
  }

  /// Spawns, while nobody moves.
  template <class... Args>
  auto make(Args&&... args) {
    auto made = system.spawn(std::forward<Args>(args)...);
    made_.push_back(caf::actor_cast<caf::actor>(made));
    return made;
  }
  SharingReader new_reader(const caf::actor& dealer, std::uint32_t number) {
    const ReaderOptions options{.limits = {.records = 2}, .dealer = dealer, .number = number};
    return make(record_reader, std::shared_ptr<RecordSource>(records_->open()), options);
  }
  LeavingDecoder new_decoder(const std::string& name, const Reader& reader, std::uint32_t number) {
    NumberDecoderOptions numbers;
    numbers.dtype = DType::int64;
    const std::vector<std::shared_ptr<RecordDecoder>> streams{
        std::make_shared<NumberDecoder>(numbers)};
    ElementSteps steps;
    steps.reader = number;
    const LeavingDecoder made =
        make(decoder, reader, caf::actor_cast<Queue>(queue_),
             std::make_shared<TupleDecoder>(streams, nullptr, std::move(steps)));
    decoders_.push_back(made_.back());
    caf::anon_send(queue_, expect_atom_v, name, made_.back());
    return made;
  }

  void begin(const PipelineSnapshot* from) {
    QueueOptions queueing;
    queueing.capacity = 4;
    queueing.producers = 2;
    queueing.readers = 1;
    queue_ = make(fifo_queue, queueing);
    const auto reader = new_reader({}, 0);
    if (from) {
      EXPECT_TRUE(ask<caf::ok_atom>(queue_, restore_atom_v, from->queue)->value);
      EXPECT_TRUE(ask<caf::ok_atom>(reader, restore_atom_v, from->lanes[0].reading)->value);
    }
    KeptLane lane;
    lane.description = "lines";
    lane.positioned = true;
    lane.name = "reader";
    lane.reader = reader;
    for (int i = 0; i < 2; ++i) {
      const auto name = "decoder " + std::to_string(i);
      lane.decoders.emplace_back(name, new_decoder(name, reader, 0));
    }
    lane.open = [this] { return records_->open(); };
    lane.spawn_reader = [this](const std::string&, const caf::actor& dealer, std::uint32_t number) {
      return new_reader(dealer, number);
    };
    lane.spawn_decoder = [this](const std::string& name, const Reader& of, std::uint32_t number) {
      return new_decoder(name, of, number);
    };
    for (const auto& [name, decoder] : lane.decoders) caf::anon_send(decoder, start_atom_v);
    keeper_ =
        make(pipeline_keeper, KeeperOptions{queue_, {std::move(lane)}, "", [](const auto&) {}});
  }
  void end() {
    settle();
    decoders_.clear();
    for (const auto& one : std::exchange(made_, {}))
      caf::anon_send_exit(one, caf::exit_reason::kill);
    settle();
  }

  /// A request, while nobody moves.
  template <class T, class Handle, class... Args>
  std::shared_ptr<test::Answer<T>> begin_to_ask(const Handle& whom, Args... args) {
    auto answer = std::make_shared<test::Answer<T>>();
    system.spawn([=](caf::event_based_actor* self) {
      self->request(whom, caf::infinite, args...)
          .then([answer](const T& value) { answer->value = value; },
                [answer](const caf::error& fault) { answer->fault = fault; });
    });
    return answer;
  }
  /// Whose turn it is, chance decides.
  void step(std::mt19937& random) {
    auto& jobs = scheduler().jobs;
    if (jobs.empty()) return;
    const auto chosen = jobs.begin() + static_cast<std::ptrdiff_t>(random() % jobs.size());
    std::rotate(jobs.begin(), chosen, chosen + 1);
    scheduler().try_run_once();
  }
  void edit(std::mt19937& random) {
    static const std::string kinds[] = {"reader", "decoder"};
    const auto& kind = kinds[random() % 2];
    if (random() % 5 < 3)
      edits_.push_back(begin_to_ask<std::string>(keeper_, join_atom_v, kind));
    else
      edits_.push_back(begin_to_ask<std::string>(keeper_, leave_atom_v, kind, std::string()));
  }
  /// As at the end of a run that is stopped.
  void stop() {
    caf::anon_send(keeper_, stop_atom_v);
    for (const auto& decoder : decoders_) caf::anon_send(decoder, stop_atom_v);
    caf::anon_send(queue_, caf::close_atom_v, CloseRequest{true, {Code::cancelled, "it stops"}});
  }
  void kill_a_decoder(std::mt19937& random) {
    caf::anon_send_exit(decoders_[random() % decoders_.size()], caf::exit_reason::kill);
  }
  auto take() {
    return begin_to_ask<Batch>(queue_, dequeue_atom_v, DequeueRequest{.count = 3, .up_to = true});
  }
  static void add(Ids& ids, const Batch& batch) {
    const auto values = batch.components[0].read<std::int64_t>();
    ids.insert(ids.end(), values.begin(), values.end());
  }

  /// Edits, batches, perhaps an early end, and a cut, all at random. Adds to `had` what had left
  /// the queue before the cut.
  PipelineSnapshot cut(std::mt19937& random, Ids& had) {
    std::vector<std::shared_ptr<test::Answer<Batch>>> batches;
    std::shared_ptr<test::Answer<PipelineSnapshot>> cut;
    const auto moment = random() % 150;
    const auto trouble = random() % (4 * (moment + 1));
    for (unsigned i = 0; i < moment + 60; ++i) {
      if (i == moment) cut = begin_to_ask<PipelineSnapshot>(keeper_, snapshot_atom_v);
      if (i == trouble && random() % 2)
        stop();
      else if (i == trouble)
        kill_a_decoder(random);
      if (random() % 8 == 0) edit(random);
      if (random() % 20 == 0) batches.push_back(take());
      step(random);
    }
    settle();
    EXPECT_TRUE(cut->value) << cut->words();
    if (!cut->value) return {};
    for (const auto& batch : batches)
      if (batch->value && batch->value->sequence < cut->value->queue.batches)
        add(had, *batch->value);
    return *cut->value;
  }
  /// The rest.
  void finish(std::mt19937& random, Ids& had) {
    while (true) {
      for (unsigned i = random() % 30; i > 0; --i) {
        if (random() % 8 == 0) edit(random);
        step(random);
      }
      const auto batch = take();
      settle();
      if (!batch->value) {
        EXPECT_EQ(code_of(batch->fault), Code::out_of_range) << batch->words();
        return;
      }
      add(had, *batch->value);
    }
  }

  test::TemporaryDirectory directory_;
  std::int64_t id_ = 0;
  Ids expected_;
  std::optional<Records> records_;
  SavableQueue queue_;
  PipelineEditor keeper_;
  std::vector<caf::actor> made_;
  std::vector<caf::actor> decoders_;
  std::vector<std::shared_ptr<test::Answer<std::string>>> edits_;
};

TEST_F(PipelineInAnyOrder, HasEachRecordOnce) {
  int done = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    Ids had;
    std::optional<PipelineSnapshot> from;
    for (auto cuts = random() % 5; cuts > 0; --cuts) {
      begin(from ? &*from : nullptr);
      from = cut(random, had);
      end();
    }
    begin(from ? &*from : nullptr);
    finish(random, had);
    end();
    std::ranges::sort(had);
    ASSERT_EQ(had, expected_) << "seed " << seed;
    for (const auto& edit : std::exchange(edits_, {})) done += edit->value ? 1 : 0;
  }
  EXPECT_GT(done, 1000) << "edits were made";
}

}  // namespace
}  // namespace troupe
