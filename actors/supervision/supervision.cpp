#include "troupe/actors/supervision/supervision.h"

#include <algorithm>
#include <caf/exit_reason.hpp>
#include <utility>

#include "troupe/messages/fault.h"

namespace troupe {
namespace {

constexpr std::size_t kLinesKept = 5;
constexpr std::size_t kLossesKept = 20;

/// It was asked to end, or had nothing left to do.
bool went_in_peace(const caf::error& reason) {
  return !reason || reason == caf::exit_reason::user_shutdown;
}

std::string words_of(const caf::error& reason) {
  if (!reason) return "it had nothing left to do";
  if (reason == caf::exit_reason::kill) return to_error(reason).what();
  return render(reason);
}

}  // namespace

bool repeats_itself(Code code) {
  switch (code) {
    case Code::invalid_argument:
    case Code::not_found:
    case Code::already_exists:
    case Code::permission_denied:
    case Code::failed_precondition:
    case Code::out_of_range:
    case Code::unimplemented:
    case Code::data_loss:
      return true;
    default:
      return false;
  }
}

std::vector<Supervision::Known>::iterator Supervision::find(const std::string& name) {
  return std::find_if(children_.begin(), children_.end(),
                      [&](const Known& known) { return known.child.name == name; });
}

bool Supervision::has(const std::string& name) const {
  return std::any_of(children_.begin(), children_.end(),
                     [&](const Known& known) { return known.child.name == name; });
}

void Supervision::add(Child child) {
  if (has(child.name))
    fail(Code::already_exists, "there is a child called '", child.name, "' already");
  children_.push_back({std::move(child), {}});
}

void Supervision::remove(const std::string& name) {
  std::erase_if(children_, [&](const Known& known) { return known.child.name == name; });
}

void Supervision::note(const std::string& name, std::string line) {
  const auto known = find(name);
  if (known == children_.end()) return;
  known->lines.push_back(std::move(line));
  if (known->lines.size() > kLinesKept) known->lines.pop_front();
}

Supervision::Verdict Supervision::ended(const std::string& name, const caf::error& reason,
                                        TimePoint now) {
  using Kind = Verdict::Kind;
  Verdict verdict;
  const auto known = find(name);
  if (known == children_.end()) return verdict;
  const auto& child = known->child;
  if (child.lifetime == Lifetime::transient && went_in_peace(reason)) return verdict;

  auto loss = text(name, " was lost: ", words_of(reason));
  std::string lines;
  for (const auto& line : known->lines) lines += text(lines.empty() ? "" : "; ", line);
  if (!lines.empty()) loss += text(" (last heard of it: ", lines, ")");
  known->lines.clear();
  losses_.push_back(loss);
  if (losses_.size() > kLossesKept) losses_.pop_front();

  const auto give_up = [&](Code code, std::string words) {
    verdict.kind = Kind::give_up;
    verdict.words = words;
    verdict.failure = fault(code, std::move(words));
    return verdict;
  };
  const auto code = code_of(reason);
  if (repeats_itself(code)) return give_up(code, to_error(reason).what());
  const auto& limits = budget_.options();
  if (child.strategy == Strategy::escalate || limits.most == 0) return give_up(code, loss);
  const auto delay = budget_.take(name, now);
  if (!delay) {
    std::string all;
    for (const auto& one : losses_) all += text("\n  ", one);
    return give_up(
        Code::aborted,
        text("all ", limits.most, limits.most == 1 ? " restart" : " restarts", " within ",
             limits.period.count(), " ms are used up (restarts.most):", all));
  }
  verdict.kind = Kind::restart;
  verdict.delay = *delay;
  verdict.restarts_left = budget_.left(now);
  const auto end = child.strategy == Strategy::rest_for_one ? children_.end() : known + 1;
  for (auto one = known; one != end; ++one) verdict.children.push_back(one->child.name);
  std::string others;
  for (std::size_t i = 1; i < verdict.children.size(); ++i)
    others += text(i == 1 ? " with " : ", ", verdict.children[i]);
  verdict.words = text(loss, "; it is started again", others, " in ", delay->count(), " ms, ",
                       verdict.restarts_left, " of ", limits.most,
                       limits.most == 1 ? " restart is left" : " restarts are left");
  return verdict;
}

}  // namespace troupe
