#include "troupe/actors/readers/repeat_source.h"

#include <algorithm>
#include <utility>

#include "troupe/actors/readers/epoch_order.h"
#include "troupe/ops/error.h"

namespace troupe {
RepeatSource::RepeatSource(std::unique_ptr<RecordSource> source, RepeatOptions options)
    : source_(std::move(source)), options_(options) {
  if (options_.epochs < 1 && options_.epochs != RepeatOptions::kForever)
    fail(Code::invalid_argument, "epochs must be at least 1 (or RepeatOptions::kForever), not ",
         options_.epochs);
  start_epoch(0);
  start_ = source_->position();
}

void RepeatSource::start_epoch(std::uint64_t epoch) {
  epoch_ = epoch;
  any_ = false;
  if (options_.shuffle_files)
    source_->restart(epoch_order(source_->file_count(), options_.seed, epoch));
  else
    source_->restart({});
}

bool RepeatSource::read(std::vector<RecordRun>& streams, const BlockLimits& limits) {
  auto inner = limits;
  inner.within_piece = limits.within_piece && source_->pieces() > 1;
  while (!source_->read(streams, inner)) {
    if (limits.within_piece) return false;
    const auto next = epoch_ + 1;
    const bool last = options_.epochs != RepeatOptions::kForever &&
                      next >= static_cast<std::uint64_t>(options_.epochs);
    if (last || !any_) return false;  // an empty epoch would repeat itself for ever
    start_epoch(next);
  }
  any_ = true;
  for (auto& run : streams) run.epoch = epoch_;
  return true;
}

std::uint64_t RepeatSource::pieces() const {
  if (options_.epochs == RepeatOptions::kForever) return kEndless;
  std::uint64_t all = 0;
  const auto epochs = static_cast<std::uint64_t>(options_.epochs);
  return __builtin_mul_overflow(source_->pieces(), epochs, &all) ? kEndless : all;
}

SourcePosition RepeatSource::piece(std::uint64_t number) const {
  const auto each = std::max<std::uint64_t>(1, source_->pieces());
  SourcePosition position{number / each, {}};
  position.nest(each == 1 ? start_ : source_->piece(number % each));
  return position;
}

std::uint64_t RepeatSource::piece_of(const SourcePosition& position) const {
  const auto each = std::max<std::uint64_t>(1, source_->pieces());
  const auto inner = each == 1 ? 0 : source_->piece_of(NestedPositions(position).next().position);
  // Behind the last piece of an epoch the next one has not begun.
  return position.epoch * each + std::min(inner, each - 1);
}

SourcePosition RepeatSource::position() const {
  SourcePosition position{epoch_, {}};
  position.nest(source_->position());
  return position;
}

void RepeatSource::seek(const SourcePosition& position) {
  NestedPositions nested(position);
  const auto inner = nested.next().position;
  nested.expect_end();
  if (options_.epochs != RepeatOptions::kForever &&
      position.epoch >= static_cast<std::uint64_t>(options_.epochs))
    fail(Code::invalid_argument, describe(), ": reading was to go on in epoch ", position.epoch + 1,
         ", but there are ", options_.epochs, ": give more, or 0 for ever");
  start_epoch(position.epoch);
  source_->seek(inner);
  any_ = true;
}

void RepeatSource::restart(std::span<const std::size_t> order) {
  (void)file_order(order, file_count());
  start_epoch(0);
}

}  // namespace troupe
