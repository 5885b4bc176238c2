#include "troupe/actors/ensemble/ensemble_scores.h"

#include <algorithm>
#include <cmath>

#include "troupe/actors/ensemble/model_ensemble.h"
#include "troupe/actors/pipeline/batch_iterator.h"
#include "troupe/actors/training/fragments.h"
#include "troupe/ops/dtype.h"
#include "troupe/ops/error.h"

namespace troupe {
namespace {

[[noreturn]] void refuse(const char* score, const Tensor& answers, const Tensor& right) {
  fail(Code::invalid_argument, score, ": the answers are ",
       TensorSpec{answers.dtype(), answers.shape()}, ", but what is right is ",
       TensorSpec{right.dtype(), right.shape()});
}

double accuracy(const Tensor& answers, const Tensor& right) {
  const auto rows = right.size();
  const bool numbers = !is_floating(answers.dtype());
  if (rows == 0 || is_floating(right.dtype()) || answers.shape().rank() == 0 ||
      answers.shape()[0] != rows || (numbers && answers.size() != rows))
    refuse("accuracy", answers, right);
  const auto classes = answers.size() / rows;
  std::int64_t hits = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t best = 0;
    for (std::int64_t k = 1; k < classes; ++k)
      if (answers.at(row * classes + k) > answers.at(row * classes + best)) best = k;
    const double said = numbers ? answers.at(row) : static_cast<double>(best);
    if (said == right.at(row)) ++hits;
  }
  return static_cast<double>(hits) / static_cast<double>(rows);
}

double rmse(const Tensor& answers, const Tensor& right) {
  if (answers.shape() != right.shape() || answers.size() == 0) refuse("rmse", answers, right);
  double sum = 0;
  for (std::int64_t i = 0; i < answers.size(); ++i) sum += std::pow(answers.at(i) - right.at(i), 2);
  return std::sqrt(sum / static_cast<double>(answers.size()));
}

/// What a model takes and answers, in words that can be compared.
struct Interface {
  std::vector<std::size_t> positions;
  std::vector<TensorSpec> specs;  // of these inputs, then of the predictions

  explicit Interface(const Model& model) : positions(query_inputs(model)) {
    for (const auto i : positions) specs.push_back(model.inputs[i].spec());
    specs.push_back(model.predictions.spec());
  }
  bool fits(const Interface& other) const {
    return positions == other.positions &&
           std::equal(specs.begin(), specs.end(), other.specs.begin(), other.specs.end(),
                      [](const TensorSpec& a, const TensorSpec& b) {
                        return a.dtype == b.dtype && compatible(a.shape, b.shape);
                      });
  }
  std::string words() const {
    std::string takes;
    for (std::size_t i = 0; i < positions.size(); ++i)
      takes += text(i == 0 ? "" : ", ", specs[i], " (component ", positions[i], ")");
    return text("takes ", takes, " and answers ", specs.back());
  }
};

}  // namespace

Score accuracy_score() { return {"accuracy", Combine::mean, accuracy}; }
Score rmse_score() { return {"rmse", Combine::root_mean_square, rmse}; }
Score score_for(const TensorSpec& right) {
  return is_floating(right.dtype) ? rmse_score() : accuracy_score();
}

std::vector<std::size_t> query_inputs(const Model& model) {
  const auto fragment = prediction_fragment(model);
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < model.inputs.size(); ++i) {
    const auto& feeds = fragment.spec.feeds;
    if (std::find(feeds.begin(), feeds.end(), model.inputs[i].name()) != feeds.end())
      positions.push_back(i);
  }
  return positions;
}

void expect_members_fit(const std::vector<TrainedModel>& members) {
  if (members.empty()) fail(Code::invalid_argument, "an ensemble needs at least one member");
  const auto of = [](const TrainedModel& member) {
    try {
      return Interface(member.model(false));
    } catch (const Error& error) {
      throw error.within(text("member '", member.name, "'"));
    }
  };
  const auto first = of(members[0]);
  for (const auto& member : members) {
    const auto other = of(member);
    if (!other.fits(first))
      fail(Code::invalid_argument, "members do not fit each other: '", members[0].name, "' ",
           first.words(), ", but '", member.name, "' ", other.words());
  }
}

EnsembleScores score_together(const std::vector<TrainedModel>& members, const Combiner& combiner,
                              const Batches& data, const Score& score, ThreadBudget threads) {
  expect_members_fit(members);
  // What each member has said is seen on its way to the combiner.
  std::vector<MemberAnswer> said;
  EnsembleOptions options;
  options.combiner = [&](const std::vector<MemberAnswer>& answers) {
    said = answers;
    return combiner(answers);
  };
  const auto positions = query_inputs(members[0].model(false));
  std::vector<CombinedValues> alone;
  for (std::size_t i = 0; i < members.size(); ++i)
    alone.emplace_back(std::vector<Combine>{score.combine});
  CombinedValues together({score.combine});
  const auto number = [](double value) { return TensorList{Tensor::scalar(value)}; };
  ModelEnsemble ensemble(options, threads);
  for (const auto& member : members)
    ensemble.join(member.name, member.model, member.weights, member.weight);
  BatchIterator batches(data, threads);
  while (const auto batch = batches.next()) {
    TensorList inputs;
    for (const auto i : positions) inputs.push_back(batch->components.at(i));
    const auto answer = ensemble.run(inputs);
    const auto& right = batch->components.back();
    for (std::size_t i = 0; i < members.size(); ++i)
      alone[i].add(number(score.of(said.at(i).outputs.at(0), right)), batch->rows());
    together.add(number(score.of(answer.outputs.at(0), right)), batch->rows());
  }
  if (together.rows() == 0) fail(Code::invalid_argument, "the evaluation set has no examples");
  EnsembleScores scores;
  scores.name = score.name;
  scores.rows = together.rows();
  for (const auto& values : alone) scores.members.push_back(values.values()[0]);
  scores.together = together.values()[0];
  return scores;
}

}  // namespace troupe
