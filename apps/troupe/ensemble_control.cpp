#include "ensemble_control.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "troupe/ops/spelling.h"

namespace troupe::cli {
namespace {

const std::vector<std::string> kOrders{"status",      "members",        "join",          "leave",
                                       "member",      "add-reader",     "remove-reader", "readers",
                                       "add-decoder", "remove-decoder", "decoders",      "stop"};

}  // namespace

RunControl& EnsembleControl::of(const std::string& member) {
  const std::lock_guard guard(mutex_);
  return members_.try_emplace(member, KnobStyle::fields).first->second;
}

void EnsembleControl::tell(const std::string& member, const Progress& progress) {
  of(member).tell(progress);
}

std::unique_ptr<ControlSocket> EnsembleControl::listen(const std::string& path,
                                                       EnsembleTraining& training,
                                                       MemberReader reader) {
  reader_ = std::move(reader);
  return listen_at(path,
                   [this, &training](const std::string& order) { return obey(order, training); });
}

std::string EnsembleControl::status(EnsembleTraining& training) {
  std::string words;
  for (const auto& [name, learning] : training.members())
    words += fmt::format("{:<12} {}{}", name, learning ? "" : "has ended: ", of(name).status());
  return words;
}

std::string EnsembleControl::join(const std::string& argument, EnsembleTraining& training) {
  const auto blank = argument.rfind(' ');
  if (blank == std::string::npos || blank == 0 || blank + 1 == argument.size())
    fail(Code::invalid_argument,
         "say in which topology file it is described, and its name: join FILE MEMBER");
  const auto name = argument.substr(blank + 1);
  training.join(reader_(argument.substr(0, blank), name));
  return fmt::format("member '{}' joins with the next batch that nobody has had\n", name);
}

std::string EnsembleControl::obey_member(const std::string& argument, EnsembleTraining& training) {
  const auto [name, order] = split_order(argument);
  if (order.empty())
    fail(Code::invalid_argument, "say which member and what it is to do: member NAME policy async");
  std::string answer;
  training.change(name, [&, order = order, &control = of(name)](Training& member) {
    answer = control.obey(order, member);
  });
  return answer;
}

std::string EnsembleControl::obey(const std::string& given, EnsembleTraining& training) {
  const auto [order, argument] = split_order(given);
  if (order == "status") return expect_alone(order, argument), status(training);
  if (order == "members") {
    expect_alone(order, argument);
    std::string words;
    for (const auto& [name, learning] : training.members())
      words += name + (learning ? "\n" : " (has ended)\n");
    return words;
  }
  if (order == "join") return join(argument, training);
  if (order == "leave") {
    if (argument.empty()) fail(Code::invalid_argument, "say who: leave MEMBER");
    training.leave(argument);
    return fmt::format("member '{}' ends after the step in progress, with a checkpoint\n",
                       argument);
  }
  if (order == "member") return obey_member(argument, training);
  const auto pipeline = training.edits();
  if (auto done = edit_pipeline(order, argument, pipeline)) return *done;
  if (order == "stop") {
    expect_alone(order, argument);
    training.request_stop();
    return "all members end after their steps in progress\n";
  }
  fail(Code::invalid_argument, "there is no order '", order, "' for members of an ensemble",
       suggestion(order, kOrders), "; there are: ", fmt::format("{}", fmt::join(kOrders, ", ")));
}

}  // namespace troupe::cli
