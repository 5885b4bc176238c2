#include "troupe/actors/topology/topology_file.h"

#include <cmath>
#include <random>

#include "support/error_matcher.h"
#include "support/temporary_directory.h"
#include "troupe/actors/aggregation/builtin_policies.h"
#include "troupe/actors/aggregation/policy_catalog.h"
#include "troupe/actors/topology/model_catalog.h"
#include "troupe/ops/elementwise.h"
#include "troupe/ops/nn/layers.h"
#include "troupe/ops/nn/losses.h"
#include "troupe/ops/nn/metrics.h"
#include "troupe/ops/state.h"

namespace troupe {
namespace {

using test::error_of;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kData = R"(data {
  stream {
    reader { name: "text" option { name: "files" value: "x.txt" } }
    decoder { name: "numbers" option { name: "shape" value: "4" } }
  }
  stream {
    reader { name: "text" option { name: "files" value: "y.txt" } }
    decoder { name: "numbers" option { name: "shape" value: "1" } }
  }
  epochs: 2
  fifo { capacity: 60 }
  batch { rows: 10 remainder: DROP in_order: true }
}
)";
constexpr const char* kModel = R"(model {
  layer { name: "hidden" dense { units: 8 activation: "tanh" l2: 0.01 } }
  layer { name: "out" dense { units: 1 } }
  loss: "mean_squared_error"
  metric: "root_mean_squared_error"
}
)";

class TopologyFiles : public ::testing::Test {
 protected:
  TopologyFiles() {
    std::string x, y;
    for (int i = 0; i < 60; ++i) {
      x += text(i % 3, " ", i % 5, " 1 ", 0.1 * i, '\n');
      y += text(0.5 * (i % 3), '\n');
    }
    test::write_file(directory / "x.txt", x);
    test::write_file(directory / "y.txt", y);
  }
  TopologyFile parse(const std::string& text, const std::vector<FileSetting>& settings = {}) {
    return parse_topology(text, directory / "run.pbtxt", settings);
  }
  /// What is wrong with a text, without the name of the file where that stands in front.
  std::vector<std::string> problems(const std::string& text,
                                    const std::vector<FileSetting>& settings = {}) {
    try {
      (void)parse(text, settings);
    } catch (const FileError& error) {
      std::vector<std::string> all;
      const auto file = directory / "run.pbtxt:";
      for (const auto& problem : error.problems())
        all.push_back(problem.starts_with(file) ? problem.substr(file.size()) : problem);
      return all;
    }
    return {};
  }
  std::string problem(const std::string& text) {
    const auto all = problems(text);
    EXPECT_EQ(all.size(), 1U) << (all.size() > 1 ? all[1] : "");
    return all.empty() ? "" : all[0];
  }
  test::TemporaryDirectory directory;
};

std::string both() { return std::string(kData) + kModel; }

TEST_F(TopologyFiles, DescribeATraining) {
  const auto file = parse(both() + R"file(
name: "small"
optimizer: "adam(0.8)"
learning_rate: "exponential(0.1, 10, 0.5)"
replicas: 2 shards: 3
aggregation { policy: "ssp:2" accumulate: 1 clip_norm: 5 not_finite: "skip" round_deadline: 1.5
  leave_out_late: true }
placement: "round_robin" average_decay: 0.9
threads { inter_op: 2 intra_op: 1 }
seed: 7 max_steps: 9 gradient_norm: true
checkpoints { directory: "run/x" every: 3 keep: 2 keep_best: 4 keep_every_hours: 2 data: false }
summary_directory: "run/s"
labels { key: "who" value: "me" }
progress_interval: 0.5 patience: 20
precision: "float16" loss_scale: 1024 max_shard_bytes: 4096 tables { from_bytes: 512 } backup_shards: 1 devices: 2
restarts { most: 3 period: 60 delay: 0.2 longest_delay: 2 jitter: 0.5 seed: 9 }
)file");
  EXPECT_EQ(file.options.restarts.most, 3);
  EXPECT_EQ(file.options.restarts.period, std::chrono::seconds(60));
  EXPECT_EQ(file.options.restarts.delay, std::chrono::milliseconds(200));
  EXPECT_EQ(file.options.restarts.longest_delay, std::chrono::seconds(2));
  EXPECT_EQ(file.options.restarts.jitter, 0.5);
  EXPECT_EQ(file.options.restarts.seed, 9U);
  EXPECT_EQ(file.name, "small");
  EXPECT_EQ(file.options.checkpoints.keep_best, 4);
  EXPECT_EQ(file.options.checkpoints.keep_every_hours, 2);
  EXPECT_FALSE(file.options.checkpoints.data);
  EXPECT_EQ(file.options.max_shard_bytes, 4096U);
  EXPECT_EQ(file.options.tables.from_bytes, 512U);
  EXPECT_EQ(file.options.backup_shards, 1);
  EXPECT_EQ(file.options.devices, 2);
  EXPECT_EQ(file.options.precision, DType::float16);
  EXPECT_EQ(file.options.loss_scale.initial, 1024);
  const auto& o = file.options;
  EXPECT_EQ(o.optimizer, optim::adam(0.8));
  EXPECT_EQ(o.learning_rate, schedule::exponential(0.1, 10, 0.5));
  EXPECT_EQ(o.replicas, 2);
  EXPECT_EQ(o.shards, 3);
  EXPECT_EQ(o.aggregation.policy, "ssp:2");
  EXPECT_EQ(o.aggregation.clip_norm, 5);
  EXPECT_EQ(o.aggregation.not_finite, NotFinite::skip);
  EXPECT_EQ(o.aggregation.round_deadline, std::chrono::milliseconds(1500));
  EXPECT_TRUE(o.aggregation.leave_out_late);
  EXPECT_EQ(o.placement.name(), "round_robin");
  EXPECT_EQ(o.average_decay, 0.9);
  EXPECT_EQ(o.threads.inter_op, 2);
  EXPECT_EQ(o.threads.intra_op, 1);
  EXPECT_EQ(o.seed, 7U);
  EXPECT_EQ(o.max_steps, 9U);
  EXPECT_TRUE(o.gradient_norm);
  EXPECT_EQ(o.checkpoints.directory, "run/x");
  EXPECT_EQ(o.checkpoints.every, 3U);
  EXPECT_EQ(o.checkpoints.keep, 2);
  EXPECT_EQ(o.summary_directory, "run/s");
  EXPECT_EQ(o.labels.at("who"), "me");
  EXPECT_EQ(o.progress_interval, std::chrono::milliseconds(500));
  EXPECT_EQ(o.patience, std::chrono::seconds(20));
  EXPECT_EQ(file.data.rows(), 10);
  EXPECT_FALSE(file.stages || file.ensemble);
}

TEST_F(TopologyFiles, HaveTheDefaultsOfTheBuilder) {
  const auto file = parse(both());
  const TrainingOptions o;
  EXPECT_EQ(file.name, "run");
  EXPECT_EQ(file.options.optimizer, o.optimizer);
  EXPECT_EQ(file.options.learning_rate, o.learning_rate);
  EXPECT_EQ(file.options.aggregation.policy, o.aggregation.policy);
  EXPECT_EQ(file.options.seed, o.seed);
  EXPECT_EQ(file.options.checkpoints.keep, o.checkpoints.keep);
  EXPECT_EQ(file.options.patience, o.patience);
  EXPECT_FALSE(file.options.evaluation.data);
}

TEST_F(TopologyFiles, TrainAsTheBuilderDoes) {
  const auto file =
      parse(both() + "threads { inter_op: 2 intra_op: 1 } deterministic: true replicas: 2");
  const auto by_hand = [](bool) {
    Model m;
    m.graph = std::make_shared<Graph>();
    const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 4});
    const auto y = placeholder(*m.graph, "y", DType::float32, {-1, 1});
    const auto hidden = nn::dense(x, 8, {.name = "hidden", .activation = tanh, .l2 = 0.01});
    const auto out = nn::dense(hidden, 1, {.name = "out"});
    m.inputs = {x, y};
    m.loss = nn::total_loss(nn::mean_squared_error(out, y));
    m.metrics = {{"rmse", nn::root_mean_squared_error(out, y), Combine::root_mean_square}};
    return m;
  };
  Training from_file(file.model, file.data, file.options);
  Training from_builder(by_hand, file.data, file.options);
  const auto a = from_file.run(), b = from_builder.run();
  EXPECT_EQ(a.ending, Ending::end_of_data) << a.message;
  EXPECT_EQ(a.steps, 12U);
  EXPECT_EQ(a.training, b.training);
}

TEST_F(TopologyFiles, TellEverythingThatIsWrong) {
  const auto all = problems(both() + R"(replcas: 2
optimizer: "adm"
aggregation { policy: "asink" clip_nrom: 1 }
placement: "nowhere"
shards: 0
average_decay: 2
)");
  ASSERT_EQ(all.size(), 7U);
  EXPECT_EQ(all[0], "20:1: there is no field 'replcas'; did you mean 'replicas'?");
  EXPECT_EQ(all[1], "22:31: there is no field 'clip_nrom'; did you mean 'clip_norm'?");
  EXPECT_THAT(all[2], StartsWith("21:1: no optimizer is called 'adm'"));
  EXPECT_THAT(all[3], StartsWith("24:1: shards is 0; it goes from 1 to"));
  EXPECT_THAT(all[4], StartsWith("23:1: no placement of variables is called 'nowhere'"));
  EXPECT_THAT(all[5], StartsWith("25:1: average_decay is 2"));
  EXPECT_THAT(all[6], StartsWith("22:15: no policy is called 'asink'"));
}

TEST_F(TopologyFiles, GivePoliciesToSomeVariables) {
  const auto groups = parse(both() + R"(replicas: 2
aggregation {
  group { variables: "out/*" policy: "async" }
  group { variables: "hidden/biases" policy: "ssp:2" }
})")
                          .options.aggregation.groups;
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0].variables, "out/*");
  EXPECT_EQ(groups[0].policy, "async");
  EXPECT_EQ(groups[1].policy, "ssp:2");
}

TEST_F(TopologyFiles, PointAtWhatDoesNotGoWithThePolicy) {
  const auto aggregation = [&](const std::string& fields, const std::string& more = {}) {
    return problem(both() + "replicas: 2\naggregation { " + fields + " }\n" + more);
  };
  EXPECT_THAT(aggregation(R"(policy: "local:2" compression: "float16")"),
              StartsWith("21:33: policy 'local:2' pushes weights, not gradients"));
  EXPECT_THAT(aggregation(R"(policy: "async" all_reduce: "ring")"),
              StartsWith("21:31: an all-reduce adds up the gradients of all replicas"));
  EXPECT_THAT(
      aggregation(R"(all_reduce: "ring")", "shards: 2"),
      StartsWith("21:15: with aggregation.all_reduce every replica has all variables: shards "
                 "must be 1, but is 2"));
  EXPECT_THAT(aggregation(R"(all_reduce: "ring")", "backup_shards: 1"),
              HasSubstr("all variables: backup_shards must be 0, but is 1"));
  EXPECT_THAT(aggregation(R"(all_reduce: "ring")", "max_shard_bytes: 4096"),
              HasSubstr("all variables: max_shard_bytes must be 0, but is 4096"));
  EXPECT_THAT(aggregation(R"(policy: "local:2")", "precision: 'float16'"),
              StartsWith("22:1: policy 'local:2' makes updates where nobody looks"));
  EXPECT_THAT(aggregation(R"(policy: "local:2" accumulate: 3)"),
              StartsWith("21:15: policy 'local:2' pushes parameters"));
  EXPECT_THAT(problem(both() + "precision: 'float16' loss_scale: 3"), StartsWith("20:22: "));
  EXPECT_THAT(problem(both() + "precision: 'int32'"), StartsWith("20:1: "));
  EXPECT_THAT(problem(both() + "loss_scale: 16"),
              StartsWith("20:1: with precision float32 the loss is not scaled"));
  EXPECT_THAT(aggregation("leave_out_late: true"),
              StartsWith("21:15: no replica is late without a deadline"));
  const std::string out = R"(group { variables: "out/*" policy: "async" } )";
  EXPECT_THAT(aggregation(out + "clip_norm: 1"), StartsWith("21:60: the norm of all gradients"));
  EXPECT_THAT(aggregation(out + "leave_out_late: true"), HasSubstr("no set is left out"));
  EXPECT_THAT(aggregation(out + R"(group { variables: "out/biases" policy: "ssp:1" })"),
              StartsWith("21:60: variable 'out/biases' has two policies"));
  EXPECT_THAT(aggregation(R"(group { variables: "outt" policy: "async" })"),
              StartsWith("21:15: policy 'async' is for 'outt', but no variable is called so"));
  EXPECT_THAT(aggregation(R"(group { variables: "out/*" policy: "asink" })"),
              StartsWith("21:15: no policy is called 'asink'"));
  EXPECT_THAT(aggregation(R"(group { variables: "out/*" policy: "sync:backups=1" })"),
              StartsWith("21:15: policy 'sync:backups=1' may leave out a set"));
  EXPECT_THAT(aggregation(R"(group { variables: "out/*" })"),
              StartsWith("21:15: a group has variables and a policy"));
}

TEST_F(TopologyFiles, PointAtTheLayerThatIsWrong) {
  const auto with = [](const std::string& layers) {
    return kData + ("model { loss: \"mean_squared_error\"\n" + layers + "\n}");
  };
  EXPECT_THAT(problem(with("layer { dense { units: 8 activation: 'rleu' } } ")),
              StartsWith("15:26: no activation is called 'rleu'; there are: relu, "));
  EXPECT_THAT(problem(with("layer { dense { units: 8 activation: 'rleu' } } ")),
              HasSubstr("did you mean 'relu'?"));
  EXPECT_THAT(problem(with("layer { dense { } }")), StartsWith("15:9: units is 0"));
  EXPECT_THAT(problem(with("layer { }")), StartsWith("15:1: a layer is one of dense"));
  EXPECT_THAT(problem(with("layer { conv2d { filters: 2 kernel: [1, 2, 3] } }")),
              HasSubstr("15:29: kernel has a height and a width"));
  EXPECT_THAT(
      problem(with("layer { dense { units: 2 } }\nlayer { conv2d { filters: 2 kernel: 3 } }")),
      StartsWith("16:1: layer 'conv2d': "));
  EXPECT_THAT(
      problem(with("layer { name: 'a' dense { units: 1 } } layer { name: 'a' flatten {} }")),
      StartsWith("15:48: there is a layer called 'a' already"));
  EXPECT_THAT(problem(with("layer { dense { units: 1 kernel_initializer: 'normal(0)' } }")),
              StartsWith("15:26: "));
  EXPECT_THAT(problem(with("layer { dropout { rate: 1 } }")), StartsWith("15:19: rate is 1"));
}

TEST_F(TopologyFiles, SayWhatIsMissing) {
  EXPECT_THAT(problems(""), ElementsAre(StartsWith("1:1: a topology has data { ... }"),
                                        StartsWith("1:1: a topology has a model { ... }")));
  EXPECT_THAT(problem(std::string(kData) + "model { layer { flatten {} } }"),
              StartsWith("14:1: a model has a loss"));
  EXPECT_THAT(problem(std::string(kModel) + "data_file: 'gone.pbtxt'"), HasSubstr("gone.pbtxt"));
  EXPECT_THAT(problem(both() + "evaluation { stop_below: 1 }"),
              StartsWith("20:1: an evaluation has data { ... }"));
  std::string missing = both();
  missing.replace(missing.find("x.txt"), 5, "z.txt");
  EXPECT_THAT(problem(missing), HasSubstr("z.txt"));
}

TEST_F(TopologyFiles, LeaveTheDirectoryOfCheckpointsToTheCommand) {
  const auto file = parse(both() + "checkpoints { every: 5 }");
  EXPECT_EQ(file.options.checkpoints.every, 5u);
  EXPECT_EQ(file.options.checkpoints.directory, "");
}

TEST_F(TopologyFiles, StopAtWhatIsNoTextFormat) {
  EXPECT_THAT(problem("replicas: two"), StartsWith("1:11: Expected integer"));
  EXPECT_THAT(problems("replcas: 1\nmodel {"),
              ElementsAre(StartsWith("1:1: there is no field 'replcas'"), StartsWith("2:8: ")));
  EXPECT_THAT(problem(std::string(100'000, '{')), HasSubstr("messages are nested too deep"));
  EXPECT_THAT(problem("x " + std::string(100'000, '{')), HasSubstr("messages are nested too deep"));
}

TEST_F(TopologyFiles, AreOverriddenBySettings) {
  const auto file = parse(both(), {{"replicas", "4"},
                                   {"aggregation.policy", "async"},
                                   {"model.layer[hidden].dense.units", "3"},
                                   {"data.batch.rows", "5"},
                                   {"deterministic", "false"},
                                   {"learning_rate", "0.5"}});
  EXPECT_EQ(file.options.replicas, 4);
  EXPECT_EQ(file.options.aggregation.policy, "async");
  EXPECT_EQ(file.model(true).graph->variables()[0].spec().shape, Shape({4, 3}));
  EXPECT_EQ(file.data.rows(), 5);
  EXPECT_EQ(file.options.learning_rate, Schedule(0.5));
}

TEST_F(TopologyFiles, TellWhichSettingIsWrong) {
  const auto wrong = [&](const std::string& path, const std::string& value) {
    const auto all = problems(both(), {{path, value}});
    EXPECT_EQ(all.size(), 1U) << path;
    return all.empty() ? "" : all[0];
  };
  EXPECT_EQ(wrong("replcas", "4"),
            "--set replcas=4: there is no field 'replcas'; did you mean 'replicas'?");
  EXPECT_EQ(wrong("replicas", "x"),
            "--set replicas=x: field 'replicas' is a whole number, but not 'x'");
  EXPECT_THAT(wrong("replicas", "0"), StartsWith("--set replicas=0: replicas is 0; it goes"));
  EXPECT_THAT(wrong("replicas[0]", "1"), HasSubstr("has one value"));
  EXPECT_THAT(wrong("model.layer.name", "1"), HasSubstr("say which one, from layer[0]"));
  EXPECT_THAT(wrong("model.layer[9].name", "1"), HasSubstr("there is no layer[9]"));
  EXPECT_THAT(wrong("model.layer[0", "1"), HasSubstr("a bracket that does not end"));
  EXPECT_THAT(wrong("model", "1"), HasSubstr("holds fields"));
  EXPECT_THAT(wrong("labels.a", "1"), HasSubstr("can only be given in the file"));
  EXPECT_THAT(wrong("aggregation.policy", "asink"),
              StartsWith("--set aggregation.policy=asink: no policy is called 'asink'"));
  EXPECT_THAT(wrong("", "1"), HasSubstr("there is no field ''"));
  EXPECT_THAT(error_of([] { parse_file_setting("replicas"); }).what(),
              HasSubstr("a setting looks like"));
}

/// A policy and a model called "of_a_test".
void register_what_users_have() {
  register_policy("of_a_test", [](const OptionMap&) { return std::make_unique<AsyncPolicy>(); });
  register_model("of_a_test", [](const OptionMap& options) -> ModelFunction {
    return [units = options.integer("units", 2, 1, 100)](bool) {
      Model m;
      m.graph = std::make_shared<Graph>();
      const auto x = placeholder(*m.graph, "x", DType::float32, {-1, 4});
      const auto y = placeholder(*m.graph, "y", DType::float32, {-1, 1});
      m.inputs = {x, y};
      m.predictions = nn::dense(nn::dense(x, units), 1);
      m.loss = nn::mean_squared_error(m.predictions, y);
      return m;
    };
  });
}

TEST_F(TopologyFiles, NameModelsAndPoliciesOfUsers) {
  static const bool registered = (register_what_users_have(), true);  // tests may be repeated
  ASSERT_TRUE(registered);
  const auto with = [](const std::string& units) {
    return std::string(kData) +
           "model { program { name: 'of_a_test' option { name: 'units' value: '" + units +
           "' } } }\naggregation { policy: 'of_a_test' }";
  };
  const auto file = parse(with("5"));
  EXPECT_EQ(file.model(true).graph->variables()[0].spec().shape, Shape({4, 5}));
  EXPECT_EQ(file.options.aggregation.policy, "of_a_test");
  EXPECT_THAT(problem(with("0")), StartsWith("14:37: option 'units' of model 'of_a_test' is 0"));
  EXPECT_THAT(problem(std::string(kData) + "model { program { name: 'lenett' } }"),
              HasSubstr("no model is called 'lenett'; there are: cifar10_cnn, headline_cnn, "));
  EXPECT_THAT(
      problem(std::string(kData) + "model { program { name: 'lenet' } }"),
      StartsWith("14:1: input 'input' of the model is float32 [?, 28, 28, 1], but component 0"));
}

TEST_F(TopologyFiles, DescribeStages) {
  const auto file =
      parse(both() + "stages { cut_after: 'hidden' schedule: 'gpipe' micro_batches: 5 }");
  ASSERT_TRUE(file.stages);
  EXPECT_THAT(file.stages->layers, ElementsAre("hidden", "out"));
  EXPECT_EQ(file.stages->options.micro_batches, 5);
  EXPECT_EQ(file.stages->options.schedule, StageSchedule::gpipe);
  StagedTraining training(file.stages->model, file.data, file.stages->options);
  const auto outcome = training.run();
  EXPECT_EQ(outcome.ending, Ending::end_of_data) << outcome.message;
  // The whole model has the variables of the stages.
  const auto whole = file.model(false);
  std::vector<std::string> names, trained;
  for (const auto& variable : whole.graph->variables()) names.push_back(variable.name());
  for (const auto& shard : training.snapshots())
    for (const auto& tensor : shard.tensors)
      if (tensor.slot.empty()) trained.push_back(tensor.variable);
  EXPECT_EQ(names, trained);
}

TEST_F(TopologyFiles, SayWhereAModelCannotBeCut) {
  const auto cut = [&](const std::string& stages) {
    return problem(both() + "stages { " + stages + " }");
  };
  EXPECT_THAT(cut("cut_after: 'hiden'"),
              StartsWith("20:10: no layer is called 'hiden'; did you mean 'hidden'?"));
  EXPECT_THAT(cut("cut_after: 'out'"), StartsWith("20:10: nothing comes after the last layer"));
  EXPECT_THAT(cut(""), StartsWith("20:1: say behind which layers"));
  EXPECT_THAT(cut("cut_after: ['hidden', 'hidden']"), HasSubstr("does not come after the cut"));
  EXPECT_THAT(cut("cut_after: 'hidden' schedule: 'zigzag'"), HasSubstr("zigzag"));
  EXPECT_THAT(problem(both() + "stages { cut_after: 'hidden' }\nreplicas: 2"),
              StartsWith("21:1: a model that is cut into stages has no replicas"));
  EXPECT_THAT(problem(both() + "stages { cut_after: 'hidden' }\ncheckpoints { keep_best: 1 }"),
              StartsWith("21:15: a model that is cut into stages is not evaluated"));
}

TEST_F(TopologyFiles, DescribeEnsembles) {
  const auto member = [](const std::string& name, const std::string& more) {
    return "member { name: '" + name + "' " + kModel + more + "}\n";
  };
  const auto text = std::string(kData) + "max_steps: 5 checkpoints { directory: 'run/e' }\n" +
                    "ensemble {\n" + member("a", "weight: 2 seed: 3") +
                    member("b", "optimizer: 'sgd' max_steps: 7 checkpoint: 'run/b'") +
                    "quorum: 1 deadline: 0.02 first_quorum: true max_outstanding: 3 }";
  const auto file = parse(text);
  ASSERT_TRUE(file.ensemble);
  const auto& e = *file.ensemble;
  ASSERT_EQ(e.members.size(), 2U);
  EXPECT_EQ(e.members[0].weight, 2);
  EXPECT_EQ(e.members[0].options.seed, 3U);
  EXPECT_EQ(e.members[0].options.max_steps, 5U);
  EXPECT_EQ(e.members[0].options.checkpoints.directory, "run/e/a");
  EXPECT_EQ(e.members[1].options.optimizer, optim::sgd());
  EXPECT_EQ(e.members[1].options.max_steps, 7U);
  EXPECT_EQ(e.members[1].options.seed, 2U);
  EXPECT_EQ(e.members[1].checkpoint, "run/b");
  EXPECT_EQ(e.members[1].options.device, "");
  EXPECT_EQ(e.options.quorum, 1);
  EXPECT_EQ(e.options.deadline, std::chrono::milliseconds(20));
  EXPECT_TRUE(e.options.first_quorum);
  EXPECT_EQ(e.options.max_outstanding, 3);

  EXPECT_THAT(
      problem(std::string(kData) + "ensemble {\n" + member("a", "") + member("a", "") + "}"),
      StartsWith("22:10: there is a member called 'a' already"));
  EXPECT_THAT(
      problem(std::string(kData) + "ensemble { combiner: 'median'\n" + member("a", "") + "}"),
      HasSubstr("14:12: there is no combiner 'median'"));
  const auto placed = [&](const std::string& device) {
    return std::string(kData) + "devices: 2 ensemble {\n" +
           member("a", "device: '" + device + "' ") + "}";
  };
  EXPECT_EQ(parse(placed("/cpu:1")).ensemble->members[0].options.device, "/cpu:1");
  EXPECT_THAT(problem(placed("/cpu:2")), AllOf(HasSubstr("there is no device '/cpu:2'"),
                                               HasSubstr("/device:CPU:0 to /device:CPU:1")));
  EXPECT_THAT(problem(std::string(kData) + "ensemble { quorum: 2\n" + member("a", "") + "}"),
              HasSubstr("quorum is 2, but there are 1 members"));
}

TEST_F(TopologyFiles, AreReadOrRefusedHoweverDamaged) {
  const auto whole = both() + "stages { cut_after: 'hidden' }\nevaluation { " + kData + "}";
  std::mt19937 random(5);
  const auto pick = [&](std::size_t below) { return random() % below; };
  for (int i = 0; i < 1500; ++i) {
    auto text = whole;
    switch (pick(4)) {
      case 0:
        text.resize(pick(text.size()));
        break;
      case 1:
        for (std::size_t k = 0; k <= pick(4); ++k)
          text[pick(text.size())] = static_cast<char>(pick(256));
        break;
      case 2:
        text.erase(pick(text.size()), pick(30));
        break;
      default: {
        const auto piece = text.substr(pick(text.size()), pick(60));
        text.insert(pick(text.size()), piece);
      }
    }
    try {
      (void)parse(text);
    } catch (const FileError& error) {
      for (const auto& each : error.problems())
        EXPECT_THAT(each, StartsWith(directory / "run.pbtxt:")) << text;
    }
  }
}

}  // namespace
}  // namespace troupe
