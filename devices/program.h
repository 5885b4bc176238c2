#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "troupe/devices/lowering.h"
#include "troupe/devices/memory_plan.h"
#include "troupe/devices/schedule.h"
#include "troupe/ops/kernel.h"

namespace troupe {

/// What a program may use.
struct ProgramOptions {
  int intra_op = 1;  ///< threads inside one op
  int inter_op = 1;  ///< ops at the same time
};

/// Where a value is while a program runs.
struct Place {
  enum class Kind : std::uint8_t {
    nowhere,   ///< its values are not needed
    feed,      ///< what was fed, as it is
    constant,  ///< in the graph
    arena,     ///< index is an offset in bytes
    leaving,   ///< a tensor that is new at every run
    kept,      ///< strings: a tensor that is the same at every run
  };
  Kind kind = Kind::nowhere;
  std::size_t index = 0;
};

/// A value that is answered or streamed.
struct Result {
  Place place;
  Shape shape;    ///< that it is seen in
  int step = -1;  ///< that makes it, -1 for feeds and constants
};

/// A subgraph compiled for the shapes of one set of feeds: steps in an order, and
/// a place for every value. Never changes; a Workspace runs it.
class Program {
 public:
  struct Step {
    Node* node = nullptr;
    std::size_t inputs = 0;   ///< position of its first input among the operands
    std::size_t outputs = 0;  ///< and of its first output
    std::vector<int> successors;
    int dependencies = 0;  ///< how many steps have it as a successor
    bool streams = false;  ///< whether a streamed result is ready after it
    bool heavy = false;    ///< worth the wake-up of another thread
  };

  /// Leaves in `kernels` those of the first workspace: they are made here to know
  /// their costs. Throws invalid_argument when an op does not take the shapes,
  /// unimplemented when one has no kernel for its dtype.
  Program(const Subgraph& subgraph, std::span<const TensorSpec> fed, const ProgramOptions& options,
          std::vector<KernelPtr>& kernels);

  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<Place>& operands() const { return operands_; }
  const std::vector<Result>& fetches() const { return fetches_; }
  const std::vector<Result>& streamed() const { return streamed_; }
  const std::vector<int>& sources() const { return sources_; }  ///< steps without dependencies
  const TensorList& constants() const { return constants_; }
  const std::vector<TensorSpec>& leaving() const { return leaving_; }
  const std::vector<TensorSpec>& kept() const { return kept_; }
  std::size_t arena_bytes() const { return memory_.arena_bytes; }

  /// Whether steps may run at the same time, because two heavy ones are independent.
  bool parallel() const { return parallel_; }

  /// A kernel for every step, for one more workspace.
  std::vector<KernelPtr> make_kernels() const;

  /// For people: what was rewritten, every step with its output, its place and
  /// its cost, and the memory in all.
  std::string describe() const;

 private:
  void weigh(std::span<const KernelPtr> kernels);
  bool has_independent_heavy_steps(const Precedence& precedence) const;
  void connect();
  void place_buffers();
  void place_operands();
  Place place_of(const Output& output);
  Result result_of(const Output& output);

  ProgramOptions options_;
  LoweredGraph lowered_;
  StepOrder schedule_;
  MemoryPlan memory_;
  std::vector<Step> steps_;
  std::vector<double> costs_;  // by step, in cycles
  std::vector<Place> operands_;
  std::vector<Result> fetches_;
  std::vector<Result> streamed_;
  std::vector<int> sources_;
  TensorList constants_;
  std::vector<TensorSpec> leaving_;
  std::vector<TensorSpec> kept_;
  std::vector<Place> buffer_places_;  // by buffer of the memory plan
  bool parallel_ = false;
};

}  // namespace troupe
