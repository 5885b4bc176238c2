#include "troupe/actors/ensemble/combiner.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>

#include "troupe/ops/dispatch.h"

namespace troupe {
namespace {

using Answers = std::vector<MemberAnswer>;

double total_weight(const Answers& answers) {
  double total = 0;
  for (const auto& answer : answers) total += answer.weight;
  return total;
}

/// One combined tensor for each output, by `combine(index of the output)`.
template <class F>
TensorList for_each_output(const Answers& answers, F combine) {
  TensorList outputs;
  for (std::size_t i = 0; i < answers.at(0).outputs.size(); ++i) outputs.push_back(combine(i));
  return outputs;
}

/// Rows of a tensor along its last axis.
struct Rows {
  std::int64_t count = 0;
  std::int64_t width = 0;
};
Rows rows_of(const Tensor& tensor, const char* combiner) {
  const auto& shape = tensor.shape();
  if (shape.rank() == 0)
    fail(Code::invalid_argument, "the ", combiner,
         " combiner needs a last axis of classes, but an output of the members is a scalar");
  const auto width = shape[shape.rank() - 1];
  return {width == 0 ? 0 : tensor.size() / width, width};
}

template <class T>
void add_scaled(std::span<T> sum, std::span<const T> values, double scale) {
  for (std::size_t i = 0; i < sum.size(); ++i)
    sum[i] += static_cast<T>(scale * static_cast<double>(values[i]));
}

template <class T>
void add_softmax(std::span<T> sum, std::span<const T> values, Rows rows, double scale) {
  std::vector<double> powers(static_cast<std::size_t>(rows.width));
  for (std::int64_t row = 0; row < rows.count; ++row) {
    const auto* in = values.data() + row * rows.width;
    const double largest = *std::max_element(in, in + rows.width);
    double all = 0;
    for (std::int64_t k = 0; k < rows.width; ++k) all += powers[k] = std::exp(in[k] - largest);
    for (std::int64_t k = 0; k < rows.width; ++k)
      sum[row * rows.width + k] += static_cast<T>(scale * powers[k] / all);
  }
}

Tensor mean_of(const Answers& answers, std::size_t output) {
  const auto& first = answers[0].outputs[output];
  const double total = total_weight(answers);
  Tensor sum(first.dtype(), first.shape());
  dispatch_floating(first.dtype(), "the mean combiner", [&]<class T>() {
    for (const auto& answer : answers)
      add_scaled(sum.write<T>(), answer.outputs[output].template read<T>(), answer.weight / total);
  });
  return sum;
}

Tensor probability_of(const Answers& answers, std::size_t output) {
  const auto& first = answers[0].outputs[output];
  const auto rows = rows_of(first, "probability");
  const double total = total_weight(answers);
  Tensor sum(first.dtype(), first.shape());
  dispatch_floating(first.dtype(), "the probability combiner", [&]<class T>() {
    for (const auto& answer : answers)
      add_softmax(sum.write<T>(), answer.outputs[output].template read<T>(), rows,
                  answer.weight / total);
  });
  return sum;
}

Tensor shares_of_votes(const Answers& answers, std::size_t output) {
  const auto& first = answers[0].outputs[output];
  const auto rows = rows_of(first, "vote");
  const double total = total_weight(answers);
  Tensor shares(first.dtype(), first.shape());
  dispatch_floating(first.dtype(), "the vote combiner", [&]<class T>() {
    auto out = shares.write<T>();
    for (const auto& answer : answers) {
      const auto* in = answer.outputs[output].template read<T>().data();
      for (std::int64_t row = 0; row < rows.count; ++row) {
        const auto* begin = in + row * rows.width;
        const auto best = std::max_element(begin, begin + rows.width) - begin;
        out[row * rows.width + best] += static_cast<T>(answer.weight / total);
      }
    }
  });
  return shares;
}

Tensor most_votes(const Answers& answers, std::size_t output) {
  const auto& first = answers[0].outputs[output];
  Tensor winners(first.dtype(), first.shape());
  dispatch_numeric_or_bool(first.dtype(), "the vote combiner", [&]<class T>() {
    auto out = winners.write<T>();
    std::map<T, double> votes;
    for (std::size_t i = 0; i < out.size(); ++i) {
      votes.clear();
      for (const auto& answer : answers)
        votes[answer.outputs[output].template read<T>()[i]] += answer.weight;
      out[i] = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
                 return a.second < b.second;
               })->first;
    }
  });
  return winners;
}

/// Those that have names.
struct Registry {
  std::mutex mutex;
  std::map<std::string, Combiner> combiners{{"mean", mean_combiner()},
                                            {"probability", probability_combiner()},
                                            {"vote", vote_combiner()}};
};
Registry& registry() {
  static auto* all = new Registry;  // never destroyed: actors may outlive main
  return *all;
}

}  // namespace

Combiner mean_combiner() {
  return [](const Answers& answers) {
    return for_each_output(answers, [&](std::size_t i) { return mean_of(answers, i); });
  };
}

Combiner probability_combiner() {
  return [](const Answers& answers) {
    return for_each_output(answers, [&](std::size_t i) { return probability_of(answers, i); });
  };
}

Combiner vote_combiner() {
  return [](const Answers& answers) {
    return for_each_output(answers, [&](std::size_t i) {
      return is_floating(answers[0].outputs[i].dtype()) ? shares_of_votes(answers, i)
                                                        : most_votes(answers, i);
    });
  };
}

void register_combiner(const std::string& name, Combiner combiner) {
  if (name.empty() || !combiner)
    fail(Code::invalid_argument, "a combiner needs a name and a function");
  const std::lock_guard guard(registry().mutex);
  if (!registry().combiners.emplace(name, std::move(combiner)).second)
    fail(Code::already_exists, "there is a combiner '", name, "' already");
}

Combiner combiner_named(const std::string& name) {
  const std::lock_guard guard(registry().mutex);
  const auto& combiners = registry().combiners;
  const auto found = combiners.find(name);
  if (found != combiners.end()) return found->second;
  std::string names;
  for (const auto& [known, combiner] : combiners) names += (names.empty() ? "" : ", ") + known;
  fail(Code::not_found, "there is no combiner '", name, "', only ", names);
}

}  // namespace troupe
