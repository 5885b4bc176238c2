#pragma once

#include <caf/fwd.hpp>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "troupe/devices/placer.h"
#include "troupe/messages/protocol.h"
#include "troupe/messages/system_config.h"
#include "troupe/ops/graph.h"

namespace troupe {

struct SessionOptions {
  /// Of a session with devices of its own. Each device has `intra_op` threads for its ops; 0
  /// shares the CPUs out among the devices.
  ThreadBudget threads{};
  std::uint64_t seed = 0;      ///< of initial values and random ops; the n-th run is the same again
  Timeout timeout = kForever;  ///< of a run; deadline_exceeded after it
  /// The devices of a session with devices of its own, as place() takes them. All are CPU
  /// devices of this process, each with its own threads, whatever job or task they are
  /// called by: cpu_devices(2), or {"/job:ps/device:CPU:0", "/job:worker/device:CPU:0"}.
  std::vector<std::string> devices{"/device:CPU:0"};
  bool soft_placement = false;        ///< PlacementOptions::soft
  bool log_device_placement = false;  ///< print where each node is to stderr, before the first run
};

/// Runs a graph from plain code, TensorFlow's way: what is fetched is computed,
/// with everything that it needs and nothing else.
///
///   Session session(graph);
///   session.initialize();
///   for (int step = 0; step < 100; ++step) session.run({loss}, {{x, batch}}, {update});
///
/// The session keeps the graph's variables. A run reads them as they were when it
/// began; when it ends without an error, everything that it assigned is set at
/// once. With several devices the graph is placed as place() says, cut by device, and the
/// parts run together. Any thread may call any method at any time, except an actor's handler,
/// which must not wait. What assigns takes turns; runs that only read do not wait.
class Session {
 public:
  using Feed = std::pair<Output, Tensor>;

  /// With actors, threads and CPU devices of its own.
  explicit Session(GraphPtr graph, const SessionOptions& options = {});
  /// On a device that is there already. Both must outlive the session.
  Session(GraphPtr graph, caf::actor_system& system, Device device,
          const SessionOptions& options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Computes the fetches from the feeds, which are not copied, and runs the
  /// targets for their effects. Any output may be fed, a variable too; the graph
  /// in front of it is then not run. A fetched node without outputs gives an
  /// empty tensor. The first run finishes the graph: nothing can be added to it
  /// from then on.
  ///
  /// Throws invalid_argument for a graph that cannot be placed, for a placeholder that is not fed
  /// or a feed that does not fit, failed_precondition for a variable without a value,
  /// deadline_exceeded and unavailable when the device does not answer, and what
  /// kernels throw, with the node's name.
  TensorList run(const OutputList& fetches, const std::vector<Feed>& feeds = {},
                 const OutputList& targets = {});
  /// One fetch.
  Tensor run(const Output& fetch, const std::vector<Feed>& feeds = {});
  /// By name: "loss", "split:1". Throws not_found with the names that are near.
  TensorList run(const std::vector<std::string>& fetches,
                 const std::map<std::string, Tensor>& feeds = {},
                 const std::vector<std::string>& targets = {});

  /// Where each node of the graph is, and why; finishes the graph. Throws
  /// failed_precondition for a session without devices of its own, else as place().
  const Placement& placement() const;

  /// Gives every variable of the graph its initial value, again if it has a value.
  void initialize();

  /// The value of a variable. Throws not_found, or failed_precondition before it has one.
  Tensor variable(const std::string& name) const;
  /// All variables that have a value.
  std::map<std::string, Tensor> variables() const;
  /// Throws not_found, and invalid_argument when dtype or shape differ.
  void set_variable(const std::string& name, const Tensor& value);
  /// Sets every variable of the graph, or none: throws not_found, naming the
  /// first one that `values` lacks, and as set_variable(). Other values are
  /// passed over: a checkpoint of training holds more than a model needs.
  void restore(const std::map<std::string, Tensor>& values);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace troupe
