#include "troupe/actors/readers/shard_source.h"

#include <algorithm>
#include <utility>

#include "troupe/actors/readers/record_run.h"
#include "troupe/ops/error.h"

namespace troupe {

ShardSource::ShardSource(std::unique_ptr<RecordSource> source, std::size_t index, std::size_t count)
    : source_(std::move(source)), index_(index), count_(count), until_next_(index) {
  if (index_ >= count_)
    fail(Code::invalid_argument, "there is no shard ", index_, " of ", count_,
         ": they count from 0");
}

std::string ShardSource::describe() const {
  return text("shard ", index_, " of ", count_, " of ", source_->describe());
}

void ShardSource::restart(std::span<const std::size_t> order) {
  source_->restart(order);
  until_next_ = index_;
}

bool ShardSource::read(std::vector<RecordRun>& streams, const BlockLimits& limits) {
  constexpr std::size_t kMostAtOnce = 1 << 16;
  auto all = limits;
  all.records =
      std::clamp<std::size_t>(limits.records, 1, std::max<std::size_t>(1, kMostAtOnce / count_)) *
      count_;
  while (source_->read(streams, all)) {
    const auto count = streams.at(0).count();
    const auto first = until_next_;
    const auto mine = first < count ? 1 + (count - 1 - first) / count_ : 0;
    until_next_ = first + mine * count_ - count;
    if (mine == 0) continue;
    for (auto& run : streams) run = pick(run, first, count_);
    return true;
  }
  return false;
}

SourcePosition ShardSource::position() const {
  SourcePosition position;
  position.nest(source_->position(), until_next_);
  return position;
}

void ShardSource::seek(const SourcePosition& position) {
  NestedPositions nested(position);
  const auto inner = nested.next();
  nested.expect_end();
  if (inner.skip >= count_)
    fail(Code::invalid_argument, "cannot read ", describe(), " from ", position.str());
  source_->seek(inner.position);
  until_next_ = inner.skip;
}

}  // namespace troupe
