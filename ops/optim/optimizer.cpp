#include "troupe/ops/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/optim/call_text.h"
#include "troupe/ops/optim/summed_rows.h"
#include "troupe/ops/optim/weighted_block.h"
#include "troupe/ops/optim/writable.h"
#include "troupe/ops/simd/optimizer.h"

namespace troupe {
namespace {

constexpr CallParameter share(std::string_view name, double fallback) {
  return {.name = name, .fallback = fallback, .low = 0, .high = 1, .open_high = true};
}
constexpr CallParameter at_least_0(std::string_view name, double fallback) {
  return {.name = name, .fallback = fallback, .low = 0, .high = HUGE_VAL};
}

/// A rule: its parameters and the slots that it keeps for each variable.
struct Rule {
  std::string_view kind;
  std::vector<CallParameter> parameters;
  std::vector<std::string> slots;
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all{
      {"sgd", {}, {}},
      {"momentum", {share("momentum", 0.9)}, {"momentum"}},
      {"nesterov", {share("momentum", 0.9)}, {"momentum"}},
      {"adagrad", {at_least_0("initial", 0.1)}, {"accumulator"}},
      {"adam",
       {share("beta1", 0.9),
        share("beta2", 0.999),
        at_least_0("epsilon", 1e-8),
        {.name = "lazy", .fallback = 0, .low = 0, .high = 1, .whole = true, .is_switch = true}},
       {"m", "v"}},
      {"rmsprop",
       {share("decay", 0.9), share("momentum", 0), at_least_0("epsilon", 1e-10)},
       {"rms", "momentum"}},
  };
  return all;
}

const Rule& rule_of(std::string_view kind) {
  const auto found = std::ranges::find(rules(), kind, &Rule::kind);
  if (found != rules().end()) return *found;
  std::string known;
  for (const auto& rule : rules()) known += text(known.empty() ? "" : ", ", rule.kind);
  fail(Code::invalid_argument, "no optimizer is called '", kind, "'; there are: ", known);
}

OptimizerConfig configured(std::string_view kind, std::span<const double> values) {
  OptimizerConfig config{std::string(kind), {}};
  const auto& parameters = rule_of(kind).parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    config.values[std::string(parameters[i].name)] = values[i];
  return config;
}

/// Pointers to the values of one step, from row or value `at` on.
template <class T>
struct Place {
  simd::InOut<T> value;
  std::array<simd::InOut<T>, 2> slots;

  Place at(std::int64_t offset) const {
    auto moved = *this;
    for (auto* part : {&moved.value, &moved.slots[0], &moved.slots[1]})
      if (part->from != nullptr) *part = {part->from + offset, part->to + offset};
    return moved;
  }
};

/// The loop of a rule with its hyper-parameters, as T, for one step.
template <class T>
class Step {
 public:
  Step(const OptimizerConfig& config, double learning_rate, std::int64_t step)
      : kind_(config.kind), rate_(static_cast<T>(learning_rate)) {
    const auto value = [&](const char* name) { return config.values.at(name); };
    if (kind_ == "momentum" || kind_ == "nesterov") {
      momentum_ = static_cast<T>(value("momentum"));
    } else if (kind_ == "adam") {
      const auto t = static_cast<double>(step) + 1;
      rate_ = static_cast<T>(learning_rate * std::sqrt(1 - std::pow(value("beta2"), t)) /
                             (1 - std::pow(value("beta1"), t)));
      decay_ = static_cast<T>(value("beta1"));
      decay2_ = static_cast<T>(value("beta2"));
      epsilon_ = static_cast<T>(value("epsilon"));
    } else if (kind_ == "rmsprop") {
      decay_ = static_cast<T>(value("decay"));
      momentum_ = static_cast<T>(value("momentum"));
      epsilon_ = static_cast<T>(value("epsilon"));
    }
  }

  void run(std::int64_t count, const Place<T>& p, const T* g) const {
    using namespace simd;
    if (kind_ == "sgd")
      TROUPE_PICK(sgd_step<T>)(count, p.value, g, rate_);
    else if (kind_ == "momentum")
      TROUPE_PICK(momentum_step<T>)(count, p.value, p.slots[0], g, rate_, momentum_);
    else if (kind_ == "nesterov")
      TROUPE_PICK(nesterov_step<T>)(count, p.value, p.slots[0], g, rate_, momentum_);
    else if (kind_ == "adagrad")
      TROUPE_PICK(adagrad_step<T>)(count, p.value, p.slots[0], g, rate_);
    else if (kind_ == "adam")
      TROUPE_PICK(adam_step<T>)
    (count, p.value, p.slots[0], p.slots[1], g, rate_, decay_, decay2_, epsilon_);
    else if (momentum_ == 0)
        TROUPE_PICK(rmsprop_step<T>)(count, p.value, p.slots[0], g, rate_, decay_, epsilon_);
    else TROUPE_PICK(rmsprop_momentum_step<T>)(count, p.value, p.slots[0], p.slots[1], g, rate_,
                                               decay_, momentum_, epsilon_);
  }

 private:
  std::string_view kind_;
  T rate_;
  T momentum_ = 0;
  T decay_ = 0;
  T decay2_ = 0;
  T epsilon_ = 0;
};

constexpr double kCyclesPerValue = 3;  // bound by memory, not by arithmetic

}  // namespace

std::ostream& operator<<(std::ostream& out, const OptimizerConfig& config) {
  const auto& rule = rule_of(config.kind);
  std::vector<double> values;
  for (const auto& parameter : rule.parameters)
    values.push_back(config.values.at(std::string(parameter.name)));
  return out << call_text(config.kind, rule.parameters, values);
}

OptimizerConfig parse_optimizer(std::string_view text) {
  const auto call = parse_call(text);
  return configured(call.name, bind(call, rule_of(call.name).parameters));
}

namespace optim {

OptimizerConfig sgd() { return configured("sgd", {}); }
OptimizerConfig momentum(double momentum, bool nesterov) {
  return configured(nesterov ? "nesterov" : "momentum", {{momentum}});
}
OptimizerConfig adagrad(double initial) { return configured("adagrad", {{initial}}); }
OptimizerConfig adam(double beta1, double beta2, double epsilon, bool lazy) {
  return configured("adam", {{beta1, beta2, epsilon, lazy ? 1.0 : 0.0}});
}
OptimizerConfig rmsprop(double decay, double momentum, double epsilon) {
  return configured("rmsprop", {{decay, momentum, epsilon}});
}

}  // namespace optim

Optimizer::Optimizer(OptimizerConfig config) : config_(std::move(config)) {
  const auto& rule = rule_of(config_.kind);
  for (const auto& parameter : rule.parameters) {
    const auto [at, absent] =
        config_.values.emplace(std::string(parameter.name), parameter.fallback);
    expect_in_range(config_.kind, parameter, at->second);
  }
  for (const auto& [name, value] : config_.values)
    if (std::ranges::count(rule.parameters, name, &CallParameter::name) == 0)
      fail(Code::invalid_argument, config_.kind, " has no parameter ", name);
}

std::vector<std::string> Optimizer::slot_names() const {
  auto names = rule_of(config_.kind).slots;
  if (config_.kind == "rmsprop" && config_.values.at("momentum") == 0) names.pop_back();
  return names;
}

TensorList Optimizer::initial_slots(DType dtype, const Shape& shape) const {
  TensorList slots;
  for (const auto& name : slot_names()) {
    const double start = name == "accumulator" ? config_.values.at("initial") : name == "rms";
    slots.push_back(Tensor::filled(dtype, shape, start));
  }
  return slots;
}

void Optimizer::expect_fitting(const Tensor& value, const TensorList& slots) const {
  const auto names = slot_names();
  if (slots.size() != names.size())
    fail(Code::invalid_argument, config_.kind, " keeps ", names.size(),
         " slots for each variable, but ", slots.size(), " were given");
  for (std::size_t i = 0; i < slots.size(); ++i)
    if (slots[i].dtype() != value.dtype() || !(slots[i].shape() == value.shape()))
      fail(Code::invalid_argument, "the slot ", names[i], " is ", slots[i].dtype(), ' ',
           slots[i].shape(), ", but the value ", value.dtype(), ' ', value.shape());
}

void Optimizer::apply(Tensor& value, TensorList& slots, const Tensor& gradient,
                      double learning_rate, std::int64_t step, IntraOp& intra) const {
  const double weight = 1;
  apply(value, slots, {&gradient, 1}, {&weight, 1}, learning_rate, step, intra);
}

void Optimizer::apply(Tensor& value, TensorList& slots, std::span<const Tensor> gradients,
                      std::span<const double> weights, double learning_rate, std::int64_t step,
                      IntraOp& intra) const {
  expect_fitting(value, slots);
  if (gradients.empty() || gradients.size() != weights.size())
    fail(Code::invalid_argument, gradients.size(), " gradients came with ", weights.size(),
         " weights");
  for (const auto& gradient : gradients)
    if (gradient.dtype() != value.dtype() || !(gradient.shape() == value.shape()))
      fail(Code::invalid_argument, "the gradient is ", gradient.dtype(), ' ', gradient.shape(),
           ", but the value ", value.dtype(), ' ', value.shape());
  dispatch_floating(value.dtype(), config_.kind, [&]<class T>() {
    const Step<T> rule(config_, learning_rate, step);
    Writable<T> target(value);
    Place<T> place{target.place(), {}};
    std::vector<Writable<T>> targets;
    targets.reserve(slots.size());
    for (std::size_t i = 0; i < slots.size(); ++i)
      place.slots[i] = targets.emplace_back(slots[i]).place();
    if (gradients.size() == 1 && weights[0] == 1) {
      const T* g = gradients[0].read<T>().data();
      intra.parallel_for(value.size(), kCyclesPerValue, [&](auto begin, auto end) {
        rule.run(end - begin, place.at(begin), g + begin);
      });
    } else {
      const auto cycles = kCyclesPerValue + static_cast<double>(gradients.size());
      intra.parallel_for(value.size(), cycles, [&](auto begin, auto end) {
        std::array<T, kWeightedBlock> sum;
        for (auto at = begin; at < end; at += kWeightedBlock) {
          const auto until = std::min(end, at + kWeightedBlock);
          add_weighted<T>(gradients, weights, at, until, sum.data());
          rule.run(until - at, place.at(at), sum.data());
        }
      });
    }
    target.commit();
    for (auto& written : targets) written.commit();
  });
}

void Optimizer::apply_sparse(Tensor& value, TensorList& slots, const Tensor& indices,
                             const Tensor& rows, double learning_rate, std::int64_t step,
                             IntraOp& intra) const {
  expect_fitting(value, slots);
  if (value.shape().rank() == 0)
    fail(Code::invalid_argument, "a scalar has no rows: its gradient cannot be sparse");
  const auto wanted = value.shape().without_first().with_first(indices.size());
  if (rows.dtype() != value.dtype() || !(rows.shape() == wanted))
    fail(Code::invalid_argument, "the rows of the sparse gradient are ", rows.dtype(), ' ',
         rows.shape(), ", but ", indices.size(), " indices into ", value.dtype(), ' ',
         value.shape(), " need ", wanted);
  const auto summed = sum_rows(indices, rows, value.shape()[0]);
  const auto width = static_cast<std::size_t>(value.shape().without_first().volume());
  if (changes_absent_rows()) {
    Tensor gradient(value.dtype(), value.shape());
    const auto row = width * size_of(value.dtype());
    auto* to = gradient.mutable_data();
    for (std::size_t i = 0; i < summed.indices.size(); ++i)
      std::copy_n(summed.rows.data() + i * row, row,
                  to + static_cast<std::size_t>(summed.indices[i]) * row);
    return apply(value, slots, gradient, learning_rate, step, intra);
  }
  // Only some rows are written, so what is shared has to be cloned as a whole.
  const auto row = width * size_of(value.dtype());
  auto* values = value.mutable_data();
  std::array<std::byte*, 2> of_slots{};
  for (std::size_t s = 0; s < slots.size(); ++s) of_slots[s] = slots[s].mutable_data();
  std::vector<RowPlace> places;
  places.reserve(summed.indices.size());
  for (const auto index : summed.indices) {
    const auto offset = static_cast<std::size_t>(index) * row;
    auto& place = places.emplace_back();
    place.value = values + offset;
    for (std::size_t s = 0; s < slots.size(); ++s) place.slots[s] = of_slots[s] + offset;
  }
  apply_rows(places, summed.rows, learning_rate, step, intra);
}

bool Optimizer::changes_absent_rows() const {
  return config_.kind == "adam" && config_.values.at("lazy") == 0;
}

void Optimizer::apply_rows(std::span<const RowPlace> places, const Tensor& rows,
                           double learning_rate, std::int64_t step, IntraOp& intra) const {
  const auto count = static_cast<std::int64_t>(places.size());
  if (rows.shape().rank() == 0 || rows.shape()[0] != count)
    fail(Code::invalid_argument, "the gradient has shape ", rows.shape(), ", but there are ", count,
         " rows");
  const auto width = rows.shape().without_first().volume();
  dispatch_floating(rows.dtype(), config_.kind, [&]<class T>() {
    const Step<T> rule(config_, learning_rate, step);
    const T* gradients = rows.read<T>().data();
    const auto in_place = [](std::byte* data) {
      auto* values = reinterpret_cast<T*>(data);
      return simd::InOut<T>{values, values};
    };
    const auto cost = 50 + kCyclesPerValue * static_cast<double>(width);
    intra.parallel_for(count, cost, [&](auto begin, auto end) {
      for (auto i = begin; i < end; ++i) {
        const auto& place = places[static_cast<std::size_t>(i)];
        rule.run(width,
                 {in_place(place.value), {in_place(place.slots[0]), in_place(place.slots[1])}},
                 gradients + i * width);
      }
    });
  });
}

}  // namespace troupe
