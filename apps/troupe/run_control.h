#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control_socket.h"
#include "troupe/actors/training/training.h"

namespace troupe::cli {

/// Lets others look at a training and change it while it runs ("troupe edit").
class RunControl {
 public:
  /// Explains the run with advice in that style.
  explicit RunControl(KnobStyle style) : style_(style) {}

  /// Remembers how the run stands. From any thread, before and while it listens.
  void tell(const Progress& progress);

  /// Listens at `path`, which may be empty for nowhere, as long as what is returned lives; this
  /// and the training must live longer. Makes the directory. Throws as ControlSocket.
  std::unique_ptr<ControlSocket> listen(const std::string& path, Training& training);

  /// Carries an order out and answers. Throws what it cannot do.
  std::string obey(const std::string& order, Training& training);
  std::string status();

 private:
  const KnobStyle style_;
  std::mutex mutex_;
  std::optional<Progress> progress_;
};

/// Where the run listens: at `given`, else in the directory of its checkpoints, else nowhere.
std::string control_of(const std::string& given, const TrainingOptions& options);

/// Listens there, unless the path is empty. Makes its directory. Throws as ControlSocket.
std::unique_ptr<ControlSocket> listen_at(const std::string& path, ControlSocket::Handler handler);

/// The orders that there are, with their words, for messages and --help.
std::string list_of_orders();

/// An order and what follows it.
std::pair<std::string, std::string> split_order(const std::string& given);
/// Refuses what follows an order that stands alone.
void expect_alone(const std::string& order, const std::string& argument);
/// "replicas 4"
int how_many(const std::string& order, const std::string& argument);
/// "joining: reader 1, reader 2", where there were so many before
std::string come_or_go(int before, int wanted, const std::vector<std::string>& changed);

/// Carries out an order about readers and decoders; nothing for another one. `pipeline` has the
/// methods of PipelineEdits.
template <class Pipeline>
std::optional<std::string> edit_pipeline(const std::string& order, const std::string& argument,
                                         Pipeline& pipeline) {
  if (order == "add-reader")
    return expect_alone(order, argument), pipeline.add_reader() + " joins\n";
  if (order == "remove-reader")
    return pipeline.remove_reader(argument) + " leaves, and hands back what it has not read\n";
  if (order == "readers") {
    const auto wanted = how_many(order, argument);
    const auto before = pipeline.readers();
    return come_or_go(before, wanted, pipeline.set_readers(wanted));
  }
  if (order == "add-decoder")
    return expect_alone(order, argument), pipeline.add_decoder() + " joins\n";
  if (order == "remove-decoder")
    return expect_alone(order, argument),
           pipeline.remove_decoder() + " leaves when the queue has what it has\n";
  if (order == "decoders") {
    const auto wanted = how_many(order, argument);
    const auto before = pipeline.decoders();
    return come_or_go(before, wanted, pipeline.set_decoders(wanted));
  }
  return std::nullopt;
}

}  // namespace troupe::cli
