#pragma once

#include <caf/error.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "troupe/actors/supervision/restart_budget.h"
#include "troupe/ops/error.h"

namespace troupe {

/// Who is started again when a child is lost.
enum class Strategy : std::uint8_t {
  one_for_one,   ///< that child
  rest_for_one,  ///< it and all that were added after it, which are ended first
  escalate,      ///< nobody: its end is that of whoever supervises it
};

/// When a child counts as lost.
enum class Lifetime : std::uint8_t {
  transient,  ///< when it ends with a failure
  permanent,  ///< whenever it ends
};

/// Whether a failure of this kind would only repeat itself: the data or the request are at
/// fault, and not who handles them.
bool repeats_itself(Code code);

/// What is to be done about children that end: the rules of a supervisor, without the actor.
///
/// Children are known by name and kept in the order in which they were added.
class Supervision {
 public:
  using TimePoint = RestartBudget::TimePoint;

  struct Child {
    std::string name;
    Strategy strategy = Strategy::one_for_one;
    Lifetime lifetime = Lifetime::transient;
  };

  struct Verdict {
    enum class Kind : std::uint8_t {
      let_go,   ///< it had nothing left to do
      restart,  ///< start `children` again, in their order; those after the first are ended before
      give_up,  ///< for the reason in `failure`, which tells of all that were lost
    };
    Kind kind = Kind::let_go;
    std::vector<std::string> children;
    std::chrono::milliseconds delay{0};  ///< until then
    int restarts_left = 0;
    caf::error failure;
    std::string words;  ///< what happened and what is done about it, for people
  };

  explicit Supervision(RestartOptions restarts) : budget_(restarts) {}

  /// Throws already_exists when there is one of that name.
  void add(Child child);
  void remove(const std::string& name);
  bool has(const std::string& name) const;

  /// Keeps a line that a child said, for the report of its loss; the last few of each.
  void note(const std::string& name, std::string line);

  /// That child has ended for that reason, none if it had nothing left to do.
  Verdict ended(const std::string& name, const caf::error& reason, TimePoint now);

 private:
  struct Known {
    Child child;
    std::deque<std::string> lines;
  };
  std::vector<Known>::iterator find(const std::string& name);

  RestartBudget budget_;
  std::vector<Known> children_;
  std::deque<std::string> losses_;  ///< the last ones, in words
};

}  // namespace troupe
