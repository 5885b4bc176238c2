#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "control_socket.h"
#include "run_control.h"
#include "troupe/actors/ensemble/ensemble_training.h"

namespace troupe::cli {

/// Lets others look at members that learn side by side, and change who they are ("troupe edit").
class EnsembleControl {
 public:
  /// Makes the member of that name in a topology file one that can join. Throws what is wrong.
  using MemberReader =
      std::function<TrainedMember(const std::string& file, const std::string& name)>;

  /// Remembers how a member stands. From any thread.
  void tell(const std::string& member, const Progress& progress);

  /// As RunControl::listen().
  std::unique_ptr<ControlSocket> listen(const std::string& path, EnsembleTraining& training,
                                        MemberReader reader);

 private:
  std::string obey(const std::string& order, EnsembleTraining& training);
  std::string status(EnsembleTraining& training);
  std::string join(const std::string& argument, EnsembleTraining& training);
  std::string obey_member(const std::string& argument, EnsembleTraining& training);
  RunControl& of(const std::string& member);

  std::mutex mutex_;
  std::map<std::string, RunControl> members_;  ///< whose places do not change
  MemberReader reader_;
};

}  // namespace troupe::cli
