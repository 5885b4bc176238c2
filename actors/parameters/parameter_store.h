#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "troupe/actors/aggregation/policy.h"
#include "troupe/actors/parameters/row_table.h"
#include "troupe/messages/payloads.h"
#include "troupe/ops/optim/optimizer.h"
#include "troupe/ops/optim/schedule.h"
#include "troupe/ops/parallel.h"

namespace troupe {

struct ShardVariable {
  std::string name;
  Tensor initial;  ///< empty for a table
  bool trainable = true;
  /// Where the variable begins when only rows of it are pulled and pushed.
  std::optional<RowTable> table = {};
  std::int64_t first_row = 0;   ///< of the whole variable, when it is split over shards
  std::int64_t total_rows = 0;  ///< of the whole variable; 0 when it is not split
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
    Tensor gradient;                    ///< empty for none
    std::vector<std::int64_t> indices;  ///< of a sparse gradient, each once; empty for none
    Tensor rows;                        ///< one for each index
    TensorList assigned;  ///< new value and slots, empty tensors where there is none; or none
  };
  std::vector<OfVariable> variables;  ///< as in the store
  std::uint64_t updates = 1;          ///< by which the version grows

  /// The sum of the squares of all gradients; of a sparse one after rows of one index have
  /// been added up.
  double squared_norm(IntraOp& intra) const;
  void scale(double factor, IntraOp& intra);
};

/// Values of variables, the optimizer's slots for them and a version that counts
/// the updates. The arithmetic of a parameter shard, without the actor.
///
/// Values that were handed out are never written again: an update goes into new
/// memory while somebody holds the old, and in place when nobody does. Of tables only
/// copies of rows are handed out, so that an update changes their rows in place; it costs
/// as much as it has rows, unless the optimizer changes rows without a gradient (adam
/// without lazy) or there are moving averages, of which every row moves at every update.
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
  bool has(const std::string& variable) const { return index_.count(variable) > 0; }
  std::size_t variables() const { return entries_.size(); }
  /// Its place among the variables. Throws invalid_argument for one that is not here.
  std::size_t position(const std::string& variable) const;
  TensorSpec spec(std::size_t position) const {
    return {entries_.at(position).dtype(), entries_.at(position).shape()};
  }

  /// All values but those of tables, in the order of the variables; without names when
  /// `with_names` is false. With `with_slots` also the optimizer's slots; with `averages`
  /// the moving averages of those that have one.
  Parameters parameters(bool with_names, bool with_slots = false, bool averages = false) const;
  /// Rows of one variable, copied. Throws not_found for a variable that is not here, and
  /// out_of_range, naming the row, for one that this store does not have.
  Tensor rows(const WantedRows& wanted, bool averages = false) const;
  /// Of those rows the ones that are in this store.
  WantedRows those_here(const WantedRows& wanted) const;

  /// A gradient that came compressed (GradientCompression) as it was before. Leaves what is none,
  /// and what cannot be one, which check() then complains about.
  void decompress(GradientPart& part) const;
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
  struct Table {
    RowTable value;
    std::vector<RowTable> slots;
    std::optional<RowTable> average;
  };
  struct Entry {
    std::string name;
    bool trainable = true;
    Tensor value;
    std::vector<Tensor> slots;
    Tensor average;
    std::optional<Table> table;  ///< in place of the three
    std::int64_t first_row = 0;
    std::int64_t total_rows = 0;

    DType dtype() const { return table ? table->value.dtype() : value.dtype(); }
    const Shape& shape() const { return table ? table->value.shape() : value.shape(); }
  };
  /// Where a saved tensor belongs: a tensor or a table of an entry, or nowhere.
  struct Target {
    Tensor* tensor = nullptr;
    RowTable* table = nullptr;
  };
  Entry made(const ShardVariable& variable) const;
  CombinedGradients::OfVariable combine_parts(std::size_t entry, const struct PushedParts& pushed,
                                              const AggregationPolicy* policy,
                                              IntraOp& intra) const;
  Target target(Entry& entry, const std::string& slot) const;
  std::int64_t take_over(Entry& entry, const SavedTensor& saved) const;
  void update(Entry& entry, CombinedGradients::OfVariable given, const struct Pushed& added_up,
              double learning_rate, IntraOp& intra);
  void update_table(Table& table, const CombinedGradients::OfVariable& given, double learning_rate,
                    IntraOp& intra);
  void update_all_rows(Table& table, const CombinedGradients::OfVariable& given,
                       double learning_rate, IntraOp& intra);

  std::string name_;
  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t> index_;
  Optimizer optimizer_;
  Schedule schedule_;
  double average_decay_;
  Version version_ = 0;
};

}  // namespace troupe
