#include "troupe/actors/parameters/held_effects.h"

#include <algorithm>

namespace troupe {

void HeldEffects::expect(const std::vector<ShardMirror>& mirrors) {
  std::vector<std::pair<ShardMirror, std::uint64_t>> now;
  for (const auto& mirror : mirrors) {
    std::uint64_t known = 0;
    for (const auto& [handle, number] : acknowledged_)
      if (handle == mirror) known = number;
    now.emplace_back(mirror, known);
  }
  acknowledged_ = std::move(now);
  release();
}

std::vector<ShardMirror> HeldEffects::mirrors() const {
  std::vector<ShardMirror> all;
  for (const auto& [mirror, number] : acknowledged_) all.push_back(mirror);
  return all;
}

bool HeldEffects::expects(const ShardMirror& mirror) const {
  return std::any_of(acknowledged_.begin(), acknowledged_.end(),
                     [&](const auto& known) { return known.first == mirror; });
}

std::int64_t HeldEffects::in_step() const {
  return std::count_if(acknowledged_.begin(), acknowledged_.end(),
                       [](const auto& known) { return known.second > 0; });
}

void HeldEffects::acknowledge(const ShardMirror& mirror, std::uint64_t number) {
  for (auto& [handle, known] : acknowledged_)
    if (handle == mirror) known = std::max(known, number);
  release();
}

void HeldEffects::add(Effect effect) {
  held_.emplace_back(logged_, std::move(effect));
  release();
}

void HeldEffects::release() {
  auto everywhere = logged_;
  for (const auto& [mirror, number] : acknowledged_) everywhere = std::min(everywhere, number);
  while (!held_.empty() && held_.front().first <= everywhere) {
    const auto effect = std::move(held_.front().second);
    held_.pop_front();
    effect();
  }
}

}  // namespace troupe
