#include "run_control.h"

#include <charconv>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "progress_line.h"
#include "troupe/actors/system_error.h"
#include "troupe/ops/spelling.h"

namespace troupe::cli {
namespace {

const std::vector<std::pair<std::string, std::string>> kOrders{
    {"status", "how the run stands"},
    {"explain", "where its time goes, and what limits it"},
    {"policy P", "another policy, such as async or ssp:2, after the step in progress"},
    {"policy-for V=P", "the same for variables with a policy of their own: policy-for emb/*=ssp:2"},
    {"add-replica", "one more replica"},
    {"remove-replica", "one less, the newest or the one named behind it: remove-replica replica 0"},
    {"replicas N", "as many as that"},
    {"add-reader", "one more reader of the training data, with its share of the decoders"},
    {"remove-reader", "one less, the newest or the one named behind it: remove-reader reader 1"},
    {"readers N", "as many as that"},
    {"add-decoder", "one more decoder"},
    {"remove-decoder", "one less"},
    {"decoders N", "as many as that"},
    {"members", "the names of all actors"},
    {"stop", "end after the step in progress, with a checkpoint"},
};

const std::vector<std::pair<std::string, std::string>> kEnsembleOrders{
    {"members", "who learns"},
    {"join FILE MEMBER", "one more: that member of a topology file"},
    {"leave MEMBER", "it ends after the step in progress, with a checkpoint"},
    {"member MEMBER ORDER", "what one training is told: member a policy ssp:2"},
};

std::vector<std::string> order_names() {
  std::vector<std::string> names;
  for (const auto& [order, words] : kOrders) names.push_back(order.substr(0, order.find(' ')));
  return names;
}

}  // namespace

std::string control_of(const std::string& given, const TrainingOptions& options) {
  if (!given.empty() || options.checkpoints.directory.empty()) return given;
  return control_path(options.checkpoints.directory);
}

int how_many(const std::string& order, const std::string& argument) {
  int count = 0;
  const auto* end = argument.data() + argument.size();
  const auto [stop, error] = std::from_chars(argument.data(), end, count);
  if (error != std::errc() || stop != end)
    fail(Code::invalid_argument, "say how many: ", order, " 4");
  if (count < 1)
    fail(Code::invalid_argument, order, " must be at least 1, but ", count, " were asked for");
  return count;
}

std::string come_or_go(int before, int wanted, const std::vector<std::string>& changed) {
  if (changed.empty()) return "there are so many already\n";
  return fmt::format("{}: {}\n", wanted > before ? "joining" : "leaving", fmt::join(changed, ", "));
}

std::pair<std::string, std::string> split_order(const std::string& given) {
  const auto blank = std::min(given.find(' '), given.size());
  return {given.substr(0, blank), blank < given.size() ? given.substr(blank + 1) : std::string()};
}

void expect_alone(const std::string& order, const std::string& argument) {
  if (!argument.empty())
    fail(Code::invalid_argument, "'", order, "' stands alone, but '", argument, "' follows");
}

std::string list_of_orders() {
  std::string list;
  const auto add = [&list](const auto& orders) {
    for (const auto& [order, words] : orders) list += fmt::format("  {:<20} {}\n", order, words);
  };
  add(kOrders);
  list +=
      "of a run that trains the members of an ensemble, beside status, those about readers and "
      "decoders, and stop:\n";
  add(kEnsembleOrders);
  return list;
}

void RunControl::tell(const Progress& progress) {
  const std::lock_guard guard(mutex_);
  progress_ = progress;
}

std::unique_ptr<ControlSocket> listen_at(const std::string& path, ControlSocket::Handler handler) {
  if (path.empty()) return nullptr;
  const auto directory = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!directory.empty()) std::filesystem::create_directories(directory, error);
  return std::make_unique<ControlSocket>(path, std::move(handler));
}

std::unique_ptr<ControlSocket> RunControl::listen(const std::string& path, Training& training) {
  return listen_at(path,
                   [this, &training](const std::string& order) { return obey(order, training); });
}

std::string RunControl::status() {
  const std::lock_guard guard(mutex_);
  if (!progress_) return "the run has not made a step yet\n";
  return progress_line(*progress_, schedulable_cpus()) + '\n';
}

std::string RunControl::obey(const std::string& given, Training& training) {
  const auto [order, argument] = split_order(given);
  const auto alone = [&order = order, &argument = argument] { expect_alone(order, argument); };
  if (order == "status") return alone(), status();
  if (order == "explain") {
    alone();
    const auto explanation = training.explain();
    return activity_table(explanation) + '\n' + summary(explanation, style_);
  }
  if (order == "policy") {
    if (argument.empty()) fail(Code::invalid_argument, "say which policy: policy ssp:2");
    training.change_policy(argument);
    return fmt::format("the policy will be {} after the step in progress\n", argument);
  }
  if (order == "policy-for") {
    const auto group = parse_policy_group(argument);
    training.change_policy(group.policy, group.variables);
    return fmt::format("the policy of {} will be {} after the step in progress\n", group.variables,
                       group.policy);
  }
  if (order == "add-replica") return alone(), training.add_replica() + " joins\n";
  if (order == "remove-replica")
    return training.remove_replica(argument) + " leaves when it has computed what it has\n";
  if (order == "replicas") {
    const auto wanted = how_many(order, argument);
    const auto before = training.replicas();
    return come_or_go(before, wanted, training.set_replicas(wanted));
  }
  if (auto done = edit_pipeline(order, argument, training)) return *done;
  if (order == "members") return alone(), fmt::format("{}\n", fmt::join(training.members(), "\n"));
  if (order == "stop") {
    alone();
    training.request_stop();
    return "the run ends after the step in progress\n";
  }
  fail(Code::invalid_argument, "there is no order '", order, "'", suggestion(order, order_names()),
       "; there are: ", fmt::format("{}", fmt::join(order_names(), ", ")));
}

}  // namespace troupe::cli
