#include "troupe/actors/training/local_parameters.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe {

LocalParameters::LocalParameters(Options options, const ModelFragment& fragment)
    : options_(std::move(options)), variables_(fragment.variables) {
  for (const auto& name : variables_)
    trainable_.push_back(
        std::any_of(fragment.parts.begin(), fragment.parts.end(), [&](const auto& part) {
          return part.variable == name && part.kind != PartKind::assignment;
        }));
}

void LocalParameters::start(Version version, const TensorList& values,
                            std::vector<SavedTensor> slots) {
  if (!store_) {
    std::vector<ShardVariable> all;
    for (std::size_t i = 0; i < variables_.size(); ++i)
      all.push_back({variables_[i], values[i], trainable_[i]});
    store_.emplace(options_.name, all, options_.optimizer, options_.schedule);
  }
  ShardSnapshot snapshot{0, version, std::move(slots)};
  for (std::size_t i = 0; i < variables_.size(); ++i)
    snapshot.tensors.push_back({variables_[i], "", values[i]});
  store_->restore(snapshot);
}

void LocalParameters::step(std::vector<GradientPart> parts) {
  for (const auto& part : parts) store_->check(part);
  std::vector<GradientSet> sets(1);
  sets[0].parts = std::move(parts);
  if (options_.clip_norm == 0) {
    store_->apply(sets, serial());
    return;
  }
  auto combined = store_->combine(sets, sum_, serial());
  const auto norm = std::sqrt(combined.squared_norm(serial()));
  if (norm > options_.clip_norm) combined.scale(options_.clip_norm / norm, serial());
  store_->apply(std::move(combined), serial());
}

std::vector<GradientPart> LocalParameters::assignments() const {
  std::vector<GradientPart> parts;
  for (auto& saved : store_->snapshot(0).tensors) {
    GradientPart part;
    part.kind = PartKind::assignment;
    part.variable = saved.variable;
    part.slot = saved.slot;
    part.values = std::move(saved.values);
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace troupe
