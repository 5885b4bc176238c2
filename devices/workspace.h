#pragma once

#include <memory>
#include <vector>

#include "troupe/devices/program.h"

namespace troupe {

/// What one run of a program needs for itself: kernels with their scratch, an
/// arena, and the pointers that tie them together. Made once, used for one run
/// after the other; beyond the tensors that leave, a run allocates nothing.
class Workspace {
 public:
  /// `kernels` are the program's: one for every step.
  Workspace(std::shared_ptr<const Program> program, std::vector<KernelPtr> kernels);

  const Program& program() const { return *program_; }
  const std::shared_ptr<const Program>& shared_program() const { return program_; }

  /// Points the kernels at what is fed, which must stay until end(), and at new
  /// tensors for what leaves.
  void begin(const TensorList& feeds, std::uint64_t seed);

  void run(int step, IntraOp& intra) {
    auto& call = calls_[step];
    call.kernel->run({call.inputs, call.outputs, intra, seed_});
  }

  /// A value that has been computed.
  Tensor value(const Result& result) const;

  /// Lets go of what was fed and of what left.
  void end();

 private:
  struct Call {
    Kernel* kernel;
    void** inputs;
    void** outputs;
  };
  struct Patch {  // an operand that is somewhere else at every run
    std::size_t operand;
    std::size_t index;
  };

  std::shared_ptr<const Program> program_;
  std::vector<KernelPtr> kernels_;
  BufferRef arena_;
  TensorList kept_;
  std::vector<void*> operands_;
  std::vector<Call> calls_;
  std::vector<Patch> fed_;
  std::vector<Patch> left_;
  const TensorList* feeds_ = nullptr;
  TensorList leaving_;
  std::uint64_t seed_ = 0;
};

}  // namespace troupe
