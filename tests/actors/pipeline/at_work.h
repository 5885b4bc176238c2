#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "troupe/actors/pipeline/pipeline.h"
#include "troupe/actors/topology/troupe.h"
#include "troupe/ops/error.h"

namespace troupe::test {

/// Numbers that identify records.
using Ids = std::vector<std::int64_t>;

inline constexpr std::chrono::minutes kDeadline{5};

/// A pipeline at work, of which batches are taken one at a time.
class AtWork {
 public:
  AtWork(const Batches& batches, const PipelineSnapshot* from = nullptr)
      : batches_(batches), troupe_({2, 1}), running_(batches.spawn(troupe_, "", 7, from)) {
    for (const auto& [name, decoder] : running_.decoders) troupe_.tell(decoder, start_atom_v);
  }
  ~AtWork() {
    running_ = {};  // a handle keeps the thread of a reader
    EXPECT_TRUE(troupe_.stop(std::chrono::seconds(60)).empty());
  }

  /// The next batch; throws why there is none.
  Batch take() {
    DequeueRequest request;
    request.count = batches_.rows();
    request.up_to = batches_.remainder() == Remainder::keep;
    return troupe_.ask<Batch>(running_.queue, kDeadline, dequeue_atom_v, request);
  }
  /// The ids of the next batch; empty at the end of the data.
  Ids next() {
    try {
      const auto batch = take();
      Ids ids;
      const auto& column = batch.components.back();
      for (std::int64_t i = 0; i < batch.rows(); ++i)
        ids.push_back(static_cast<std::int64_t>(column.at(i)));
      return ids;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::out_of_range) << error.what();
      return {};
    }
  }
  std::vector<Ids> rest() {
    std::vector<Ids> all;
    while (true) {
      auto ids = next();
      if (ids.empty()) return all;
      all.push_back(std::move(ids));
    }
  }
  PipelineSnapshot snapshot() {
    return troupe_.ask<PipelineSnapshot>(running_.keeper, kDeadline, snapshot_atom_v);
  }
  const std::vector<std::string>& notes() const { return running_.notes; }
  PipelineEdits edits() { return {troupe_, running_.keeper}; }
  std::vector<std::string> members() const {
    std::vector<std::string> names;
    for (const auto& [name, actor] : troupe_.members()) names.push_back(name);
    return names;
  }

 private:
  const Batches batches_;
  Troupe troupe_;
  Batches::Running running_;
};

inline Ids flat(const std::vector<Ids>& batches) {
  Ids all;
  for (const auto& ids : batches) all.insert(all.end(), ids.begin(), ids.end());
  return all;
}
inline Ids sorted(Ids ids) {
  std::ranges::sort(ids);
  return ids;
}

}  // namespace troupe::test
