#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "troupe/messages/payloads.h"
#include "troupe/ops/optim/optimizer.h"
#include "troupe/ops/optim/schedule.h"
#include "troupe/ops/parallel.h"

namespace troupe {

struct ShardVariable {
  std::string name;
  Tensor initial;
  bool trainable = true;
};

/// What one replica pushed for one step.
struct GradientSet {
  GradientCommit commit;
  std::vector<GradientPart> parts;
};

/// Values of variables, the optimizer's slots for them and a version that counts
/// the updates. The arithmetic of a parameter shard, without the actor.
///
/// Values that were handed out are never written again: an update goes into new
/// memory while somebody holds the old, and in place when nobody does.
class ParameterStore {
 public:
  /// `name` stands in front of every error. `average_decay` above 0 keeps an
  /// exponential moving average of each trainable variable: of what it was before,
  /// min(average_decay, (1 + n) / (10 + n)) stays at the update that has n before it.
  ParameterStore(std::string name, const std::vector<ShardVariable>& variables,
                 const OptimizerConfig& optimizer, const Schedule& schedule,
                 double average_decay = 0);

  Version version() const { return version_; }
  std::uint64_t bytes() const;

  /// All values, in the order of the variables; without names when `with_names` is false.
  Parameters parameters(bool with_names) const;

  /// Throws invalid_argument, naming variable and replica, when a part does not
  /// fit: unknown variable, other dtype or shape.
  void check(const GradientPart& part) const;

  /// One update with the mean of the sets' gradients, weighted by their examples,
  /// added in the order of the vector; a variable that a set does not mention
  /// counts as zero there. Returns the learning rate that was used. No set with
  /// examples: nothing happens, the version stays.
  double apply(const std::vector<GradientSet>& sets, IntraOp& intra);

  ShardSnapshot snapshot(std::uint32_t shard) const;
  /// Takes over values, slots and version. Throws invalid_argument, before
  /// anything is changed, when a variable is missing or has another dtype or shape.
  void restore(const ShardSnapshot& snapshot);

 private:
  struct Entry {
    std::string name;
    bool trainable = true;
    Tensor value;
    std::vector<Tensor> slots;
    Tensor average;
  };
  /// Parts of several replicas, each with its number of examples.
  struct Weighted {
    std::vector<const GradientPart*> parts;
    std::vector<double> weights;

    double total() const;
    std::vector<double> shares(double total) const;
    /// The sum of weight / total times values, in order.
    Tensor mean(double total, IntraOp& intra) const;
    /// The same for rows: their indices, and the rows one below the other.
    std::pair<Tensor, Tensor> mean_rows(double total) const;
  };
  /// What was pushed for one variable.
  struct Pushed {
    Weighted gradients, sparse, assigned;
    void add(const GradientPart& part, double weight);
  };
  void update(Entry& entry, const Pushed& pushed, double total, double learning_rate,
              IntraOp& intra);

  std::string name_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> index_;
  Optimizer optimizer_;
  Schedule schedule_;
  double average_decay_;
  Version version_ = 0;
};

}  // namespace troupe
