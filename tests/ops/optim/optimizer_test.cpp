#include "troupe/ops/optim/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/check_reference.h"
#include "support/message_of.h"
#include "support/threads.h"
#include "troupe/ops/initializers.h"

namespace troupe::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<OptimizerConfig>& all_rules() {
  static const std::vector<OptimizerConfig> rules{
      optim::sgd(),     optim::momentum(0.9),    optim::momentum(0.9, true),
      optim::adagrad(), optim::adam(),           optim::adam(0.9, 0.99, 1e-6, true),
      optim::rmsprop(), optim::rmsprop(0.9, 0.5)};
  return rules;
}

Tensor random(const Shape& shape, const std::string& name, DType dtype = DType::float32) {
  return evaluate(init::normal(0, 1), dtype, shape, name, 1);
}

/// A variable with what its optimizer remembers of it.
struct Trained {
  explicit Trained(const OptimizerConfig& config, Tensor start)
      : optimizer(config),
        value(std::move(start)),
        slots(optimizer.initial_slots(value.dtype(), value.shape())) {}

  void apply(const Tensor& gradient, double rate = 0.1, IntraOp& intra = serial()) {
    optimizer.apply(value, slots, gradient, rate, step++, intra);
  }
  void apply_sparse(const Tensor& indices, const Tensor& rows, double rate = 0.1,
                    IntraOp& intra = serial()) {
    optimizer.apply_sparse(value, slots, indices, rows, rate, step++, intra);
  }

  Optimizer optimizer;
  Tensor value;
  TensorList slots;
  std::int64_t step = 0;
};

/// More values than are added up at a time, of three gradients.
TEST(Optimizers, AddUpGradientsInTheSamePassWithTheBitsOfTheirSum) {
  const Shape shape{64, 1001};
  const TensorList gradients{random(shape, "a"), random(shape, "b"), random(shape, "c")};
  const std::vector<double> weights{0.5, 0.3, 0.2};
  Tensor sum(DType::float32, shape);
  auto to = sum.write<float>();
  for (std::size_t i = 0; i < to.size(); ++i) {
    to[i] = 0.5f * gradients[0].read<float>()[i];
    to[i] += 0.3f * gradients[1].read<float>()[i];
    to[i] += 0.2f * gradients[2].read<float>()[i];
  }
  for (const auto& rule : all_rules()) {
    Trained one(rule, random(shape, "start")), several(rule, random(shape, "start"));
    Threads threads(4);
    for (int step = 0; step < 3; ++step) {
      one.apply(sum);
      several.optimizer.apply(several.value, several.slots, gradients, weights, 0.1, several.step++,
                              threads);
    }
    EXPECT_TRUE(same_bits(one.value, several.value)) << rule;
    for (std::size_t s = 0; s < one.slots.size(); ++s)
      EXPECT_TRUE(same_bits(one.slots[s], several.slots[s])) << rule << ", slot " << s;
  }
}

TEST(Optimizers, RefuseGradientsThatDoNotFitAndWeightsThatAreNotAsMany) {
  Trained trained(optim::sgd(), random({3}, "start"));
  const TensorList gradients{random({3}, "a"), random({2}, "b")};
  const auto apply = [&](const std::vector<double>& weights) {
    trained.optimizer.apply(trained.value, trained.slots, gradients, weights, 0.1, 0);
  };
  EXPECT_THAT(message_of([&] { apply({1, 1}); }), HasSubstr("the gradient is float32 [2]"));
  EXPECT_THAT(message_of([&] { apply({1}); }), HasSubstr("2 gradients came with 1 weights"));
}

OptimizerConfig config_of(const ReferenceCase& c) {
  if (c.op == "momentum") {
    const bool nesterov = c.has_attribute("use_nesterov") && c.flag("use_nesterov");
    return optim::momentum(c.number("momentum"), nesterov);
  }
  if (c.op == "adagrad") return optim::adagrad(c.number("initial_accumulator_value"));
  if (c.op == "adam") return optim::adam(c.number("beta1"), c.number("beta2"), c.number("epsilon"));
  if (c.op == "rmsprop")
    return optim::rmsprop(c.number("decay"), c.number("momentum"), c.number("epsilon"));
  return optim::sgd();
}

TEST(Optimizer, FollowsTheTrajectoriesOfTensorFlow) {
  const auto cases = read_references(TROUPE_TEST_DATA "/optimizers.txt");
  EXPECT_EQ(cases.size(), 32u);
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::Message() << c);
    Trained weights(config_of(c), c.tensor("value0"));
    const auto rates = c.numbers("learning_rates");
    for (std::size_t k = 1; k <= rates.size(); ++k) {
      const auto step = std::to_string(k);
      if (c.has("indices" + step))
        weights.apply_sparse(c.tensor("indices" + step), c.tensor("gradient" + step), rates[k - 1]);
      else
        weights.apply(c.tensor("gradient" + step), rates[k - 1]);
      const double tolerance = weights.value.dtype() == DType::float64 ? 1e-14 : 2e-6;
      expect_near(weights.value, c.tensor("value" + step), tolerance, "value" + step);
    }
  }
}

TEST(Optimizer, LeavesTheSnapshotOfAReaderAlone) {
  for (const auto& rule : all_rules()) {
    SCOPED_TRACE(text(rule));
    Trained shared(rule, random({40, 3}, "start"));
    Trained alone(rule, random({40, 3}, "start"));
    const auto snapshot = shared.value;
    const auto before = snapshot.clone();
    for (int i = 0; i < 3; ++i) {
      const auto checkpoint = shared.slots;
      shared.apply(random({40, 3}, text("gradient", i)));
      alone.apply(random({40, 3}, text("gradient", i)));
    }
    shared.apply_sparse(Tensor::of<std::int32_t>({2}, {5, 5}), random({2, 3}, "rows"));
    alone.apply_sparse(Tensor::of<std::int32_t>({2}, {5, 5}), random({2, 3}, "rows"));
    EXPECT_TRUE(same_bits(snapshot, before));
    EXPECT_TRUE(same_bits(shared.value, alone.value)) << "written in place or anew: the same";
  }
}

TEST(Optimizer, WritesInPlaceWhatNobodyElseHolds) {
  for (const auto& rule : all_rules()) {
    Trained weights(rule, random({64}, "start"));
    const auto* value = weights.value.data();
    std::vector<const std::byte*> slots;
    for (const auto& slot : weights.slots) slots.push_back(slot.data());
    weights.apply(random({64}, "gradient"));
    EXPECT_EQ(weights.value.data(), value) << rule;
    for (std::size_t i = 0; i < slots.size(); ++i) EXPECT_EQ(weights.slots[i].data(), slots[i]);
  }
}

TEST(Optimizer, GivesTheSameBitsOnManyThreads) {
  Threads threads(3);
  for (const auto dtype : {DType::float32, DType::float64})
    for (const auto& rule : all_rules()) {
      Trained one(rule, random({100'003}, "start", dtype));
      Trained many(rule, random({100'003}, "start", dtype));
      one.apply(random({100'003}, "gradient", dtype));
      many.apply(random({100'003}, "gradient", dtype), 0.1, threads);
      EXPECT_TRUE(same_bits(one.value, many.value)) << rule;
    }
}

TEST(Optimizer, TreatsRowsOfASparseGradientAsADenseOneWould) {
  const auto rows = Tensor::of<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto indices = Tensor::of<std::int64_t>({4}, {4, 1, 4, 4});
  const auto dense = Tensor::of<float>({6, 2}, {0, 0, 3, 4, 0, 0, 0, 0, 13, 16, 0, 0});
  for (const auto& rule : all_rules()) {
    SCOPED_TRACE(text(rule));
    Trained sparse(rule, random({6, 2}, "start"));
    Trained whole(rule, random({6, 2}, "start"));
    sparse.apply_sparse(indices, rows);
    whole.apply(dense);
    for (const std::int64_t row : {1, 4})
      EXPECT_TRUE(same_bits(sparse.value.slice(row, row + 1), whole.value.slice(row, row + 1)));
    for (const std::int64_t row : {0, 2, 3, 5})
      EXPECT_TRUE(
          same_bits(sparse.value.slice(row, row + 1), random({6, 2}, "start").slice(row, row + 1)));
  }
}

TEST(Optimizer, AdamMovesAbsentRowsUnlessItIsLazy) {
  for (const bool lazy : {false, true}) {
    Trained weights(optim::adam(0.9, 0.999, 1e-8, lazy), random({3, 2}, "start"));
    weights.apply(random({3, 2}, "gradient"));
    const auto before = weights.value.clone();
    weights.apply_sparse(Tensor::of<std::int32_t>({1}, {1}), random({1, 2}, "row"));
    EXPECT_EQ(same_bits(weights.value.slice(0, 1), before.slice(0, 1)), lazy);
    EXPECT_FALSE(same_bits(weights.value.slice(1, 2), before.slice(1, 2)));
  }
}

TEST(Optimizer, TakesEmptyTensorsAndScalars) {
  for (const auto& rule : all_rules()) {
    Trained empty(rule, Tensor(DType::float32, {0, 3}));
    empty.apply(Tensor(DType::float32, {0, 3}));
    empty.apply_sparse(Tensor(DType::int32, {0}), Tensor(DType::float32, {0, 3}));
    Trained scalar(rule, Tensor::scalar(1.f));
    scalar.apply(Tensor::scalar(1.f));
    EXPECT_LT(scalar.value.item(), 1) << rule;
    Trained untouched(rule, random({4, 3}, "start"));
    untouched.apply_sparse(Tensor(DType::int32, {0}), Tensor(DType::float32, {0, 3}));
    EXPECT_TRUE(same_bits(untouched.value, random({4, 3}, "start"))) << rule;
  }
}

TEST(Optimizer, SaysWhatDoesNotFitAndThenChangesNothing) {
  Trained weights(optim::momentum(0.9), random({3, 2}, "start"));
  EXPECT_EQ(message_of([&] {
              weights.apply(Tensor(DType::float32, {2, 3}));
            }),
            "the gradient is float32 [2, 3], but the value float32 [3, 2]");
  EXPECT_EQ(message_of([&] {
              weights.apply(Tensor(DType::float64, {3, 2}));
            }),
            "the gradient is float64 [3, 2], but the value float32 [3, 2]");
  EXPECT_EQ(
      message_of([&] {
        weights.apply_sparse(Tensor::of<std::int32_t>({2}, {0, 3}), Tensor(DType::float32, {2, 2}));
      }),
      "sparse gradient: index 3 at [1] is outside [0, 3)");
  EXPECT_EQ(
      message_of([&] {
        weights.apply_sparse(Tensor::of<std::int64_t>({1}, {-1}), Tensor(DType::float32, {1, 2}));
      }),
      "sparse gradient: index -1 at [0] is outside [0, 3)");
  EXPECT_EQ(message_of([&] {
              weights.apply_sparse(Tensor(DType::int32, {2}), Tensor(DType::float32, {2, 3}));
            }),
            "the rows of the sparse gradient are float32 [2, 3], but 2 indices into float32 [3, 2] "
            "need [2, 2]");
  weights.slots.clear();
  EXPECT_EQ(message_of([&] {
              weights.apply(Tensor(DType::float32, {3, 2}));
            }),
            "momentum keeps 1 slots for each variable, but 0 were given");
  EXPECT_TRUE(same_bits(weights.value, random({3, 2}, "start")));
}

TEST(Optimizer, NamesItsSlots) {
  EXPECT_THAT(Optimizer(optim::sgd()).slot_names(), ElementsAre());
  EXPECT_THAT(Optimizer(optim::adam()).slot_names(), ElementsAre("m", "v"));
  EXPECT_THAT(Optimizer(optim::rmsprop(0.9, 0)).slot_names(), ElementsAre("rms"));
  EXPECT_THAT(Optimizer(optim::rmsprop(0.9, 0.5)).slot_names(), ElementsAre("rms", "momentum"));
}

TEST(OptimizerText, IsReadBackAsTheSameConfiguration) {
  for (const auto& rule : all_rules()) EXPECT_EQ(parse_optimizer(text(rule)), rule) << rule;
  EXPECT_EQ(text(optim::adam(0.9, 0.999, 1e-8, true)), "adam(0.9, 0.999, 1e-08, lazy)");
  EXPECT_EQ(text(optim::sgd()), "sgd");
}

TEST(OptimizerText, TakesArgumentsInOrderOrByName) {
  EXPECT_EQ(parse_optimizer("momentum(0.8)"), optim::momentum(0.8));
  EXPECT_EQ(parse_optimizer(" nesterov ( 0.9 ) "), optim::momentum(0.9, true));
  EXPECT_EQ(parse_optimizer("adam"), optim::adam());
  EXPECT_EQ(parse_optimizer("adam(0.9, epsilon=1e-4, lazy)"), optim::adam(0.9, 0.999, 1e-4, true));
  EXPECT_EQ(parse_optimizer("rmsprop(momentum=0.5)"), optim::rmsprop(0.9, 0.5));
}

TEST(OptimizerText, SaysWhatIsWrong) {
  const auto complaint = [](const char* text) {
    return message_of([&] { parse_optimizer(text); });
  };
  EXPECT_EQ(complaint("adem"),
            "no optimizer is called 'adem'; there are: sgd, momentum, nesterov, adagrad, adam, "
            "rmsprop");
  EXPECT_EQ(complaint("adam(beta3=0.1)"),
            "adam has no parameter beta3; it has: beta1, beta2, epsilon, lazy");
  EXPECT_EQ(complaint("momentum(1)"),
            "momentum: momentum is 1, but must be at least 0 and below 1");
  EXPECT_EQ(complaint("momentum(0.1, 0.2)"),
            "momentum takes 1 numbers, but more are given; its parameters: momentum");
  EXPECT_EQ(complaint("momentum(0.1, momentum=0.2)"), "momentum: momentum is given twice");
  EXPECT_EQ(complaint("momentum(fast)"), "momentum has no parameter fast; it has: momentum");
  EXPECT_EQ(complaint("adam(beta1)"), "adam: beta1 needs a value: beta1=...");
  EXPECT_EQ(complaint("momentum(0.9"),
            "\"momentum(0.9\", character 13: ',' or ')' should stand here; a call looks like "
            "exponential(0.1, 200, 0.8, staircase)");
  EXPECT_EQ(complaint("momentum(0.9) x"),
            "\"momentum(0.9) x\", character 15: the text should end here; a call looks like "
            "exponential(0.1, 200, 0.8, staircase)");
}

}  // namespace
}  // namespace troupe::test
