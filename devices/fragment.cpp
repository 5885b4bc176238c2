#include "troupe/devices/fragment.h"

#include <algorithm>
#include <sstream>

#include "troupe/ops/op.h"

namespace troupe {
namespace {

bool fits(const std::vector<TensorSpec>& specs, const TensorList& tensors) {
  return std::ranges::equal(specs, tensors, [](const TensorSpec& spec, const Tensor& tensor) {
    return spec.dtype == tensor.dtype() && spec.shape == tensor.shape();
  });
}

std::vector<TensorSpec> specs_of(const TensorList& tensors) {
  std::vector<TensorSpec> specs;
  specs.reserve(tensors.size());
  for (const auto& tensor : tensors) specs.push_back({tensor.dtype(), tensor.shape()});
  return specs;
}

}  // namespace

Fragment::Fragment(const FragmentSpec& spec, const ProgramOptions& options,
                   std::shared_ptr<IntraOp> intra, std::string device)
    : subgraph_(select_subgraph(spec)),
      options_(options),
      intra_(std::move(intra)),
      device_(std::move(device)) {}

std::shared_ptr<Executor> Fragment::acquire(const TensorList& feeds) {
  std::shared_ptr<const Program> program;
  {
    const std::lock_guard guard(mutex_);
    if (auto* known = find(feeds)) {
      known->last_used = ++uses_;
      if (!known->idle.empty()) {
        auto executor = std::move(known->idle.back());
        known->idle.pop_back();
        return executor;
      }
      program = known->program;
    }
  }
  // Compiling takes milliseconds: others may run, or compile, meanwhile.
  if (program) return make(program, program->make_kernels());
  expect_feeds(subgraph_.feeds, feeds, device_);
  auto fed = specs_of(feeds);
  std::vector<KernelPtr> kernels;
  program = std::make_shared<const Program>(subgraph_, fed, options_, kernels);
  auto executor = make(program, std::move(kernels));
  remember(std::move(fed), std::move(program));
  return executor;
}

std::shared_ptr<Executor> Fragment::acquire_quick(const TensorList& feeds,
                                                  std::chrono::nanoseconds bound) {
  const std::lock_guard guard(mutex_);
  auto* known = find(feeds);
  if (known == nullptr || known->idle.empty() || !known->idle.back()->quick(bound)) return nullptr;
  known->last_used = ++uses_;
  auto executor = std::move(known->idle.back());
  known->idle.pop_back();
  return executor;
}

void Fragment::release(std::shared_ptr<Executor> executor) {
  {
    const std::lock_guard guard(mutex_);
    if (auto* known = find(executor->workspace().program())) {
      known->idle.push_back(std::move(executor));
      return;
    }
  }
  forget(*executor);
}

std::string Fragment::describe() const {
  std::ostringstream out;
  const std::lock_guard guard(mutex_);
  for (const auto& [fed, program, idle, last_used] : compiled_) {
    out << "fed";
    for (std::size_t i = 0; i < fed.size(); ++i)
      out << (i ? ", " : " ") << subgraph_.feeds[i].name() << ' ' << fed[i];
    out << ": " << program->describe();
  }
  return std::move(out).str();
}

Fragment::Compiled* Fragment::find(const TensorList& feeds) {
  const auto found =
      std::ranges::find_if(compiled_, [&](const auto& c) { return fits(c.fed, feeds); });
  return found == compiled_.end() ? nullptr : &*found;
}

Fragment::Compiled* Fragment::find(const Program& program) {
  const auto found =
      std::ranges::find_if(compiled_, [&](const auto& c) { return c.program.get() == &program; });
  return found == compiled_.end() ? nullptr : &*found;
}

std::shared_ptr<Executor> Fragment::make(std::shared_ptr<const Program> program,
                                         std::vector<KernelPtr> kernels) {
  arena_bytes_ += program->arena_bytes();
  return std::make_shared<Executor>(std::move(program), std::move(kernels), *intra_, device_);
}

void Fragment::remember(std::vector<TensorSpec> fed, std::shared_ptr<const Program> program) {
  Compiled oldest;  // destroyed outside of the lock
  {
    const std::lock_guard guard(mutex_);
    const auto equal = [&](const Compiled& other) { return other.fed == fed; };
    if (std::ranges::any_of(compiled_, equal)) return;  // somebody else was faster
    if (compiled_.size() == kMostSignatures) {
      const auto last = std::ranges::min_element(compiled_, {}, &Compiled::last_used);
      oldest = std::move(*last);
      compiled_.erase(last);
    }
    compiled_.push_back({std::move(fed), std::move(program), {}, ++uses_});
  }
  for (const auto& executor : oldest.idle) forget(*executor);
}

void Fragment::forget(const Executor& executor) {
  arena_bytes_ -= executor.workspace().program().arena_bytes();
}

}  // namespace troupe
