#include "troupe/ops/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "troupe/ops/dispatch.h"
#include "troupe/ops/optim/call_text.h"
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

/// The rows of a sparse gradient in the order of their index, so that those of
/// one index stand together.
struct SortedRows {
  struct Entry {
    std::int64_t index;
    std::int64_t position;
  };
  std::vector<Entry> entries;
  std::vector<std::size_t> firsts;  // of each index, and one past the last entry

  SortedRows(const Tensor& indices, std::int64_t limit) {
    for (std::int64_t i = 0; i < indices.size(); ++i) {
      const auto index = indices.dtype() == DType::int32
                             ? indices.read<std::int32_t>()[static_cast<std::size_t>(i)]
                             : indices.read<std::int64_t>()[static_cast<std::size_t>(i)];
      if (index < 0 || index >= limit)
        fail(Code::invalid_argument, "sparse gradient: index ", index, " at [", i,
             "] is outside [0, ", limit, ")");
      entries.push_back({index, i});
    }
    std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
      return a.index != b.index ? a.index < b.index : a.position < b.position;
    });
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (i == 0 || entries[i].index != entries[i - 1].index) firsts.push_back(i);
    firsts.push_back(entries.size());
  }

  std::int64_t count() const { return static_cast<std::int64_t>(firsts.size()) - 1; }
  std::int64_t index(std::int64_t unique) const {
    return entries[firsts[static_cast<std::size_t>(unique)]].index;
  }

  /// The sum of all rows of one index; `scratch` holds it when there are several.
  template <class T>
  const T* sum(std::int64_t unique, const T* rows, std::int64_t width, T* scratch) const {
    const auto first = firsts[static_cast<std::size_t>(unique)];
    const auto last = firsts[static_cast<std::size_t>(unique) + 1];
    const auto* row = rows + entries[first].position * width;
    if (last - first == 1) return row;
    std::copy_n(row, width, scratch);
    for (auto i = first + 1; i < last; ++i) {
      row = rows + entries[i].position * width;
      for (std::int64_t k = 0; k < width; ++k) scratch[k] += row[k];
    }
    return scratch;
  }
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
  expect_fitting(value, slots);
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
    const T* g = gradient.read<T>().data();
    intra.parallel_for(value.size(), kCyclesPerValue, [&](auto begin, auto end) {
      rule.run(end - begin, place.at(begin), g + begin);
    });
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
  if ((indices.dtype() != DType::int32 && indices.dtype() != DType::int64) ||
      indices.shape().rank() != 1)
    fail(Code::invalid_argument, "the indices of a sparse gradient are ", indices.dtype(), ' ',
         indices.shape(), ", but must be int32 or int64 [count]");
  const auto wanted = value.shape().without_first().with_first(indices.size());
  if (rows.dtype() != value.dtype() || !(rows.shape() == wanted))
    fail(Code::invalid_argument, "the rows of the sparse gradient are ", rows.dtype(), ' ',
         rows.shape(), ", but ", indices.size(), " indices into ", value.dtype(), ' ',
         value.shape(), " need ", wanted);
  const SortedRows sorted(indices, value.shape()[0]);
  const auto width = value.shape().without_first().volume();

  dispatch_floating(value.dtype(), config_.kind, [&]<class T>() {
    const T* from = rows.read<T>().data();
    if (config_.kind == "adam" && config_.values.at("lazy") == 0) {
      Tensor gradient(value.dtype(), value.shape());
      const auto all = gradient.write<T>();
      for (std::int64_t i = 0; i < sorted.count(); ++i) {
        T* to = all.data() + sorted.index(i) * width;
        const T* sum = sorted.sum(i, from, width, to);
        if (sum != to) std::copy_n(sum, width, to);
      }
      return apply(value, slots, gradient, learning_rate, step, intra);
    }
    const Step<T> rule(config_, learning_rate, step);
    // Only some rows are written, so what is shared has to be cloned as a whole.
    const auto in_place = [](Tensor& tensor) {
      T* data = tensor.write<T>().data();
      return simd::InOut<T>{data, data};
    };
    Place<T> place{in_place(value), {}};
    for (std::size_t i = 0; i < slots.size(); ++i) place.slots[i] = in_place(slots[i]);
    const auto cost = 50 + kCyclesPerValue * static_cast<double>(width);
    intra.parallel_for(sorted.count(), cost, [&](auto begin, auto end) {
      std::vector<T> scratch(static_cast<std::size_t>(width));
      for (auto i = begin; i < end; ++i)
        rule.run(width, place.at(sorted.index(i) * width),
                 sorted.sum(i, from, width, scratch.data()));
    });
  });
}

}  // namespace troupe
