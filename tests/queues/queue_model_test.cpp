#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "queues/queue_driver.h"
#include "troupe/queues/padding_fifo_queue.h"
#include "troupe/queues/priority_queue.h"

namespace troupe {
namespace {

enum class Kind { fifo, random_shuffle, padding_fifo, priority };

/// The priority of a number: few of them, so that many are equal.
std::int64_t priority(std::int64_t value) { return value * 7919 % 5 - 2; }
/// How often a number stands in its element of a padding queue.
std::int64_t length(std::int64_t value) { return value % 4; }

/// What a queue must do, told as simply as possible: a queue of numbers that is tried
/// again from the start after each step. For a shuffle queue the order of the numbers is
/// not compared, only who gets how many and when.
class ModelQueue {
 public:
  ModelQueue(Kind kind, std::int64_t capacity, std::int64_t floor)
      : kind_(kind), capacity_(capacity), floor_(floor) {}

  struct Enqueue {
    int id;
    std::vector<std::int64_t> values;
    bool atomic;
    std::int64_t deadline;  // -1: none
  };
  struct Dequeue {
    int id;
    std::size_t count;
    bool up_to;
    std::int64_t deadline;
    std::vector<std::int64_t> taken;
  };

  void enqueue(Enqueue request) {
    if (request.values.empty()) return answer(request.id, true);
    if (closed_ || closing_) return answer(request.id, false);
    enqueues_.push_back(std::move(request));
    settle();
  }
  void dequeue(Dequeue request) {
    if (request.count == 0) return answer(request.id, true);
    if (kind_ == Kind::priority && !closed_ && !request.up_to &&
        static_cast<std::int64_t>(request.count) > capacity_)
      return answer(request.id, false);
    dequeues_.push_back(std::move(request));
    settle();
  }
  void close(bool cancel) {
    closing_ = true;
    if (cancel) {
      for (const auto& request : enqueues_) answer(request.id, false);
      enqueues_.clear();
    }
    settle();
  }
  void pass(std::int64_t now) {
    std::erase_if(enqueues_, [&](const auto& request) { return due(request, now); });
    // The first may have taken elements; they go back in front.
    for (auto& request : dequeues_)
      if (request.deadline >= 0 && request.deadline <= now) put_back(request);
    std::erase_if(dequeues_, [&](const auto& request) { return due(request, now); });
    settle();
  }

  /// id -> whether the request was granted; with what, for dequeues.
  std::map<int, bool> answers;
  std::map<int, std::vector<std::int64_t>> given;
  std::int64_t size() const { return static_cast<std::int64_t>(values_.size()); }

 private:
  void answer(int id, bool granted) { answers[id] = granted; }
  template <class Request>
  bool due(const Request& request, std::int64_t now) {
    if (request.deadline < 0 || request.deadline > now) return false;
    answer(request.id, false);
    return true;
  }
  void put_back(Dequeue& request) {
    values_.insert(values_.begin(), request.taken.begin(), request.taken.end());
    request.taken.clear();
  }
  void settle() {
    while (step()) {
    }
  }
  /// The smallest thing that can happen next; false when nothing can. Once a dequeue has
  /// been served, those behind it are tried before more elements come in.
  bool step() {
    if (serving_ && !dequeues_.empty() && step_dequeue(dequeues_.front())) return true;
    serving_ = false;
    if (!enqueues_.empty() && step_enqueue(enqueues_.front())) return true;
    if (enqueues_.empty() && closing_ && !closed_) return closed_ = true;
    if (dequeues_.empty()) return false;
    serving_ = step_dequeue(dequeues_.front());
    if (serving_) return true;
    return kind_ == Kind::priority && !enqueues_.empty() && break_jam(dequeues_.front());
  }
  /// The first enqueue has no room, and the first dequeue waits for more.
  bool break_jam(Dequeue& head) {
    answer(head.id, head.up_to);
    if (head.up_to) given[head.id] = {values_.begin(), values_.end()};
    if (head.up_to) values_.clear();
    dequeues_.pop_front();
    return true;
  }
  bool step_enqueue(Enqueue& head) {
    const auto needed = head.atomic ? static_cast<std::int64_t>(head.values.size()) : 1;
    if (size() + needed > capacity_) {
      if (size() > floor_) return false;
      answer(head.id, false);  // can never fit
      enqueues_.pop_front();
      return true;
    }
    for (std::int64_t i = 0; i < needed; ++i) {
      put(head.values.front());
      head.values.erase(head.values.begin());
    }
    if (head.values.empty()) {
      answer(head.id, true);
      enqueues_.pop_front();
    }
    return true;
  }
  void put(std::int64_t value) {
    auto place = values_.end();
    if (kind_ == Kind::priority)
      place = std::ranges::upper_bound(values_, priority(value), {}, priority);
    values_.insert(place, value);
  }
  bool step_dequeue(Dequeue& head) {
    const bool apart = kind_ == Kind::priority && head.taken.empty() && !closed_;
    if (apart && size() < static_cast<std::int64_t>(head.count)) return false;
    while (head.taken.size() < head.count && size() > (closed_ ? 0 : floor_)) {
      head.taken.push_back(values_.front());
      values_.pop_front();
      if (kind_ != Kind::priority && head.taken.size() < head.count) return true;
    }
    const bool granted =
        head.taken.size() == head.count || (closed_ && head.up_to && !head.taken.empty());
    if (!granted && !closed_) return false;
    if (granted)
      given[head.id] = head.taken;
    else
      put_back(head);
    answer(head.id, granted);
    dequeues_.pop_front();
    return true;
  }

  Kind kind_;
  std::int64_t capacity_;
  std::int64_t floor_;
  std::deque<std::int64_t> values_;
  std::deque<Enqueue> enqueues_;
  std::deque<Dequeue> dequeues_;
  bool closing_ = false;
  bool closed_ = false;
  bool serving_ = false;
};

/// A real queue and its model, given the same random requests.
class Duel {
 public:
  Duel(std::uint32_t seed, Kind kind)
      : kind_(kind),
        random_(seed),
        capacity_(1 + below(12)),
        floor_(kind == Kind::random_shuffle ? below(static_cast<int>(capacity_)) : 0),
        model_(kind, capacity_, floor_),
        queue_(options(), queue_kind(seed)) {}

  void run(int steps) {
    for (int i = 0; i < steps && !::testing::Test::HasFailure(); ++i) {
      act();
      compare();
    }
    queue_.close(true);
    model_.close(true);
    compare();
    take_the_rest();
  }

 private:
  int below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }
  QueueOptions options() const {
    QueueOptions options;
    options.capacity = capacity_;
    if (kind_ == Kind::padding_fifo) {
      options.components = {{"", {DType::int64, {Shape::kUnknown}}}};
      options.padding = ElementPadding{{kPad}};
    }
    return options;
  }
  QueueKind queue_kind(std::uint32_t seed) const {
    RandomShuffleQueueOptions shuffling;
    shuffling.min_after_dequeue = floor_;
    shuffling.seed = seed;
    switch (kind_) {
      case Kind::random_shuffle:
        return random_shuffle_kind(shuffling);
      case Kind::padding_fifo:
        return padding_fifo_kind();
      case Kind::priority:
        return priority_kind({});
      case Kind::fifo:
        break;
    }
    return fifo_kind();
  }
  Element element(std::int64_t value) const {
    if (kind_ == Kind::priority)
      return {Tensor::scalar<std::int64_t>(priority(value)), Tensor::scalar<std::int64_t>(value)};
    if (kind_ == Kind::padding_fifo)
      return {Tensor::filled(DType::int64, {length(value)}, static_cast<double>(value))};
    return test::number(value);
  }

  void act() {
    const int dice = below(100);
    if (dice < 45)
      enqueue();
    else if (dice < 90)
      dequeue();
    else if (dice < 99)
      pass();
    else if (below(20) == 0)
      close();
  }
  void enqueue() {
    ModelQueue::Enqueue request{next_id_++, {}, below(4) == 0, deadline()};
    for (int i = below(2 * static_cast<int>(capacity_)); i > 0; --i)
      request.values.push_back(next_value_++);
    ElementBlock block;
    for (const auto value : request.values) block.elements.push_back(element(value));
    enqueues_[request.id] =
        queue_.enqueue_block(std::move(block), {.atomic = request.atomic, .timeout = timeout_});
    sent_.insert(request.values.begin(), request.values.end());
    model_.enqueue(request);
  }
  void dequeue() {
    ModelQueue::Dequeue request{
        next_id_++, static_cast<std::size_t>(below(8)), below(2) == 0, deadline(), {}};
    dequeues_[request.id] =
        queue_.dequeue(static_cast<std::int64_t>(request.count), request.up_to, timeout_);
    model_.dequeue(request);
  }
  void pass() {
    now_ += 1 + below(5);
    queue_.now = QueueCore::TimePoint(std::chrono::milliseconds(now_));
    queue_.core.expire();
    model_.pass(now_);
  }
  void close() {
    const bool cancel = below(2) == 0;
    queue_.close(cancel);
    model_.close(cancel);
  }
  std::int64_t deadline() {
    const bool patient = below(3) > 0;
    timeout_ = patient ? kForever : Timeout(1 + below(10));
    return patient ? -1 : now_ + timeout_.count();
  }

  /// The same requests are answered, in the same way; what is given was sent, once.
  void compare() {
    EXPECT_EQ(queue_.core.status().size, model_.size());
    for (const auto& [id, outcome] : enqueues_) {
      EXPECT_LE(outcome->answers, 1);
      const auto expected = model_.answers.find(id);
      ASSERT_EQ(outcome->pending(), expected == model_.answers.end()) << "enqueue " << id;
      if (outcome->pending()) continue;
      EXPECT_EQ(!outcome->error, expected->second) << outcome->words();
    }
    for (auto i = dequeues_.begin(); i != dequeues_.end();) {
      const auto& [id, outcome] = *i;
      const auto expected = model_.answers.find(id);
      ASSERT_EQ(outcome->pending(), expected == model_.answers.end()) << "dequeue " << id;
      if (outcome->pending()) {
        ++i;
        continue;
      }
      EXPECT_EQ(!outcome->error, expected->second) << outcome->words();
      if (outcome->value && !model_.given[id].empty()) take(id, *outcome->value);
      i = dequeues_.erase(i);
    }
    std::erase_if(enqueues_, [](const auto& entry) { return !entry.second->pending(); });
  }
  void take(int id, const std::vector<std::int64_t>& values) {
    const auto& expected = model_.given[id];
    if (kind_ == Kind::padding_fifo) {
      EXPECT_EQ(values, padded(expected));
    } else if (kind_ == Kind::random_shuffle) {
      EXPECT_EQ(values.size(), expected.size());
    } else {
      EXPECT_EQ(values, expected);
    }
    for (const auto value : kind_ == Kind::padding_fifo ? expected : values)
      EXPECT_EQ(sent_.erase(value), 1u) << value << " came twice";
  }
  /// The rows of a batch of these numbers.
  static std::vector<std::int64_t> padded(const std::vector<std::int64_t>& numbers) {
    const auto width = length(*std::ranges::max_element(numbers, {}, length));
    std::vector<std::int64_t> rows;
    for (const auto number : numbers)
      for (std::int64_t i = 0; i < width; ++i) rows.push_back(i < length(number) ? number : kPad);
    return rows;
  }
  void take_the_rest() {
    const auto left = queue_.core.status().size;
    if (left == 0) return;
    const auto rest = queue_.dequeue(left);
    ASSERT_TRUE(rest->value) << rest->words();
    if (kind_ != Kind::padding_fifo) {
      for (const auto value : *rest->value) EXPECT_EQ(sent_.erase(value), 1u);
    }
    const auto s = queue_.core.status();
    EXPECT_EQ(s.enqueued, s.dequeued) << "nothing that went in is lost";
    EXPECT_EQ(s.bytes, 0u);
  }

  static constexpr std::int64_t kPad = -1;

  Kind kind_;
  std::mt19937 random_;
  std::int64_t capacity_;
  std::int64_t floor_;
  ModelQueue model_;
  test::QueueDriver queue_;
  Timeout timeout_ = kForever;
  std::int64_t now_ = 0;
  int next_id_ = 0;
  std::int64_t next_value_ = 0;
  std::map<int, test::EnqueueOutcome> enqueues_;  // not yet answered
  std::map<int, test::DequeueOutcome> dequeues_;
  std::set<std::int64_t> sent_;  // and not yet given out
};

std::string name_of(const ::testing::TestParamInfo<Kind>& info) {
  switch (info.param) {
    case Kind::random_shuffle:
      return "RandomShuffle";
    case Kind::padding_fifo:
      return "PaddingFifo";
    case Kind::priority:
      return "Priority";
    case Kind::fifo:
      break;
  }
  return "Fifo";
}

class QueueModel : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, QueueModel,
                         ::testing::Values(Kind::fifo, Kind::random_shuffle, Kind::padding_fifo,
                                           Kind::priority),
                         name_of);

TEST_P(QueueModel, AgreesWithTheQueueOnRandomRequests) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Duel(seed, GetParam()).run(200);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace troupe
