#include "troupe/devices/program.h"

#include <algorithm>
#include <iomanip>
#include <sstream>

#include "troupe/devices/fusion.h"
#include "troupe/ops/op.h"

namespace troupe {
namespace {

// About 30 us: what it takes until another thread has noticed.
constexpr double kHeavyCycles = 100'000;

// Above this many steps, who precedes whom would take more than 32 MB to know.
constexpr std::size_t kMostParallelSteps = std::size_t{1} << 14;

std::vector<TensorSpec> input_specs(const Node& node) {
  std::vector<TensorSpec> specs;
  specs.reserve(node.inputs.size());
  for (const auto& input : node.inputs) specs.push_back(input.spec());
  return specs;
}

/// From the bytes that the node moves, at eight a cycle.
double guessed_cost(const Node& node) {
  double bytes = 0;
  const auto add = [&](const TensorSpec& spec) {
    bytes += static_cast<double>(spec.shape.volume()) * static_cast<double>(size_of(spec.dtype));
  };
  for_each_value_input(node, [&](const Output& input) { add(input.spec()); });
  for (const auto& output : node.outputs) add(output);
  return bytes / 8 + 100;
}

std::ostream& operator<<(std::ostream& out, const Place& place) {
  switch (place.kind) {
    case Place::Kind::arena:
      return out << "at " << place.index;
    case Place::Kind::leaving:
      return out << "leaves";
    case Place::Kind::kept:
      return out << "kept";
    case Place::Kind::feed:
      return out << "fed";
    case Place::Kind::constant:
      return out << "constant";
    case Place::Kind::nowhere:
      break;
  }
  return out << "nowhere";
}

}  // namespace

Program::Program(const Subgraph& subgraph, std::span<const TensorSpec> fed,
                 const ProgramOptions& options, std::vector<KernelPtr>& kernels)
    : options_(options), lowered_(lower(subgraph, fed)) {
  fuse(lowered_);
  lowered_.graph->finish();
  schedule_ = make_schedule(lowered_);
  steps_.resize(schedule_.steps.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) steps_[i].node = schedule_.steps[i];
  kernels = make_kernels();
  weigh(kernels);

  auto precedence = Precedence::in_order();
  if (options.inter_op > 1 && steps_.size() <= kMostParallelSteps) {
    auto loose = Precedence::by_dependencies(schedule_);
    parallel_ = has_independent_heavy_steps(loose);
    if (parallel_) precedence = std::move(loose);
  }
  memory_ = plan_memory(lowered_, schedule_, precedence);
  connect();
  place_buffers();
  place_operands();
}

std::vector<KernelPtr> Program::make_kernels() const {
  std::vector<KernelPtr> kernels;
  kernels.reserve(steps_.size());
  for (const auto& step : steps_) {
    const auto& node = *step.node;
    const auto inputs = input_specs(node);
    kernels.push_back(node.op->cpu({node, inputs, node.outputs, options_.intra_op}));
  }
  return kernels;
}

void Program::weigh(std::span<const KernelPtr> kernels) {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    costs_.push_back(kernels[i]->cost > 0 ? kernels[i]->cost : guessed_cost(*steps_[i].node));
    steps_[i].heavy = costs_.back() >= kHeavyCycles;
  }
}

bool Program::has_independent_heavy_steps(const Precedence& precedence) const {
  std::vector<int> heavy;
  for (int i = 0; i < static_cast<int>(steps_.size()); ++i)
    if (steps_[i].heavy) heavy.push_back(i);
  for (std::size_t b = 1; b < heavy.size(); ++b)
    for (std::size_t a = 0; a < b; ++a)
      if (!precedence.before(heavy[a], heavy[b])) return true;
  return false;
}

void Program::connect() {
  for (int i = 0; i < static_cast<int>(steps_.size()); ++i) {
    steps_[i].dependencies = static_cast<int>(schedule_.dependencies[i].size());
    for (const auto before : schedule_.dependencies[i]) steps_[before].successors.push_back(i);
    if (steps_[i].dependencies == 0) sources_.push_back(i);
  }
}

void Program::place_buffers() {
  for (const auto& buffer : memory_.buffers) {
    if (buffer.leaves) {
      buffer_places_.push_back({Place::Kind::leaving, leaving_.size()});
      leaving_.push_back(buffer.spec);
    } else if (buffer.spec.dtype == DType::string) {
      buffer_places_.push_back({Place::Kind::kept, kept_.size()});
      kept_.push_back(buffer.spec);
    } else {
      buffer_places_.push_back({Place::Kind::arena, buffer.offset});
    }
  }
}

void Program::place_operands() {
  for (auto& step : steps_) {
    auto& node = *step.node;
    step.inputs = operands_.size();
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      operands_.push_back(reads_only_shape(node, i) ? Place{} : place_of(node.inputs[i]));
    step.outputs = operands_.size();
    for (int i = 0; i < static_cast<int>(node.outputs.size()); ++i)
      operands_.push_back(place_of(node.output(i)));
  }
  for (const auto& output : lowered_.fetches) fetches_.push_back(result_of(output));
  for (const auto& output : lowered_.streamed) {
    streamed_.push_back(result_of(output));
    if (streamed_.back().step >= 0) steps_[streamed_.back().step].streams = true;
  }
}

Place Program::place_of(const Output& output) {
  const auto source = root(output);
  const auto& node = source.node();
  if (const auto feed = std::ranges::find(lowered_.feeds, source); feed != lowered_.feeds.end())
    return {Place::Kind::feed, static_cast<std::size_t>(feed - lowered_.feeds.begin())};
  if (node.op->name == "constant") {
    constants_.push_back(node.attributes.get<Tensor>("value"));
    return {Place::Kind::constant, constants_.size() - 1};
  }
  if (node.outputs.empty()) return {};
  return buffer_places_[memory_.buffer_of[node.id].at(source.index())];
}

Result Program::result_of(const Output& output) {
  const auto step = schedule_.step_of[root(output).node().id];
  return {place_of(output), output.node().outputs.empty() ? Shape{0} : output.shape(), step};
}

std::string Program::describe() const {
  std::ostringstream out;
  out << steps_.size() << " steps" << (parallel_ ? ", some at the same time" : "") << "; arena of "
      << memory_.arena_bytes << " bytes; " << memory_.in_place << " values written in place\n";
  for (const auto& note : lowered_.notes) out << "  " << note << '\n';
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const auto& node = *steps_[i].node;
    out << "  " << std::setw(4) << i << "  " << node.name << " = " << node.op->name << '(';
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      out << (k ? ", " : "") << node.inputs[k].name();
    out << ')';
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      out << "  " << node.outputs[k] << ' ' << operands_[steps_[i].outputs + k];
    out << "  ~" << std::setprecision(3) << costs_[i] << " cycles\n";
  }
  return out.str();
}

}  // namespace troupe
