#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "control_socket.h"
#include "troupe/actors/training/training.h"

namespace troupe::cli {

/// Lets others look at a training and change it while it runs ("troupe edit").
class RunControl {
 public:
  /// Remembers how the run stands. From any thread, before and while it listens.
  void tell(const Progress& progress);

  /// Listens at `path`, which may be empty for nowhere, as long as what is returned lives; this
  /// and the training must live longer. Makes the directory. Throws as ControlSocket.
  std::unique_ptr<ControlSocket> listen(const std::string& path, Training& training);

 private:
  std::string obey(const std::string& order, Training& training);
  std::string status();

  std::mutex mutex_;
  std::optional<Progress> progress_;
};

/// Where the run listens: at `given`, else in the directory of its checkpoints, else nowhere.
std::string control_of(const std::string& given, const TrainingOptions& options);

/// The orders that there are, with their words, for messages and --help.
std::string list_of_orders();

}  // namespace troupe::cli
