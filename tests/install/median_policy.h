#pragma once

#include <troupe/actors/aggregation/builtin_policies.h>
#include <troupe/actors/aggregation/policy_catalog.h>

#include <algorithm>
#include <memory>
#include <vector>

/// Synchronous, but with the median of the replicas' gradients in place of their mean,
/// value by value: a few that are far off change nothing. `trim` > 0 takes the mean without
/// so many of the smallest and of the largest values instead.
class MedianPolicy : public troupe::SyncPolicy {
 public:
  explicit MedianPolicy(std::size_t trim) : trim_(trim) {}

  troupe::Tensor reduce(const troupe::TensorList& gradients, const std::vector<double>& shares,
                        troupe::IntraOp& intra) const override {
    if (gradients[0].dtype() != troupe::DType::float32)
      return troupe::SyncPolicy::reduce(gradients, shares, intra);
    troupe::Tensor result(troupe::DType::float32, gradients[0].shape());
    auto out = result.write<float>();
    std::vector<float> values(gradients.size());
    const auto cut = std::min(trim_ > 0 ? trim_ : values.size(), (values.size() - 1) / 2);
    for (std::size_t i = 0; i < out.size(); ++i) {
      for (std::size_t set = 0; set < values.size(); ++set)
        values[set] = gradients[set].read<float>()[i];
      std::sort(values.begin(), values.end());
      float sum = 0;
      for (auto k = cut; k < values.size() - cut; ++k) sum += values[k];
      out[i] = sum / static_cast<float>(values.size() - 2 * cut);
    }
    return result;
  }

 private:
  std::size_t trim_;
};

inline void register_median() {
  troupe::register_policy(
      "median",
      [](const troupe::OptionMap& options) {
        return std::make_unique<MedianPolicy>(
            static_cast<std::size_t>(options.integer("trim", 0, 0, 1000)));
      },
      "one update with the median of the replicas' gradients", "trim");
}
