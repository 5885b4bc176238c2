#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "troupe/actors/aggregation/policy.h"
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
  double share = 1;  ///< of its gradients in the update
};

/// Gradients of several sets as those of one update.
struct CombinedGradients {
  struct OfVariable {
    Tensor gradient;       ///< empty for none
    Tensor indices, rows;  ///< of a sparse gradient; empty for none
    TensorList assigned;   ///< new value and slots, empty tensors where there is none; or none
  };
  std::vector<OfVariable> variables;  ///< as in the store
  std::uint64_t updates = 1;          ///< by which the version grows

  /// The sum of the squares of all gradients. Rows of a sparse one count as they are, also
  /// those of one index.
  double squared_norm(IntraOp& intra) const;
  void scale(double factor, IntraOp& intra);
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
  /// With `with_slots` also the optimizer's slots.
  Parameters parameters(bool with_names, bool with_slots = false) const;

  /// Throws invalid_argument, naming variable and replica, when a part does not
  /// fit: unknown variable, other dtype or shape.
  void check(const GradientPart& part) const;

  /// The sets' gradients put together by the policy, added in the order of the vector; a
  /// variable that a set does not mention counts as zero there. Assigned values are means
  /// weighted by the shares.
  CombinedGradients combine(const std::vector<GradientSet>& sets, const AggregationPolicy& policy,
                            IntraOp& intra) const;
  /// One update. Returns the learning rate that was used.
  double apply(CombinedGradients combined, IntraOp& intra);
  /// Both in one go, variable by variable; the version grows by `updates`.
  double apply(const std::vector<GradientSet>& sets, const AggregationPolicy& policy,
               std::uint64_t updates, IntraOp& intra);
  /// The same for one update of one's own: the sum weighted by the shares.
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
  void update(Entry& entry, CombinedGradients::OfVariable given, double learning_rate,
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
