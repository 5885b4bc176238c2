#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace troupe::cli {

/// Where others say what a run is to do: a Unix-domain socket that only its owner may use. Who
/// connects sends one line, and gets "ok" or "error CODE" on a line, then words until the end.
class ControlSocket {
 public:
  /// What an order is answered with; throws what it cannot do. Called by a thread of the socket.
  using Handler = std::function<std::string(const std::string& order)>;

  /// Listens at `path`; the socket of a run that has ended is replaced. Throws already_exists
  /// when somebody listens there, failed_precondition when something else is in the way, and as
  /// system_error() does.
  ControlSocket(std::string path, Handler handler);
  /// Waits for the order that is carried out, and removes the socket.
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

 private:
  struct Client;
  void serve();
  void take(Client& client);

  std::string path_;
  Handler handler_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  std::thread thread_;
};

/// Sends an order to whoever listens at `path` and returns the words of the answer. Throws
/// not_found when nobody does, deadline_exceeded when no answer comes, what was answered, and
/// data_loss for an answer that is none.
std::string send_order(const std::string& path, const std::string& order);

/// The socket of a run: "control.sock" in its directory.
std::string control_path(const std::string& directory);

}  // namespace troupe::cli
