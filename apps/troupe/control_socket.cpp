#include "control_socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "troupe/actors/system_error.h"
#include "troupe/ops/error.h"
#include "troupe/ops/printable.h"

namespace troupe::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{10};  // with a client that says nothing
constexpr std::chrono::seconds kAnswer{60};    // of a run that is busy
constexpr std::size_t kLongestOrder = 4096;
constexpr std::size_t kLongestAnswer = std::size_t{1} << 20;
constexpr std::size_t kMostClients = 16;

/// Closes a descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// The address of a socket, by way of its directory: the path itself may be too long for one.
class Address {
 public:
  explicit Address(const std::string& path) {
    const auto slash = path.rfind('/');
    const auto directory = slash == std::string::npos ? "."
                           : slash == 0               ? "/"
                                                      : path.substr(0, slash);
    const auto name = path.substr(slash == std::string::npos ? 0 : slash + 1);
    directory_ = Descriptor(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (directory_.get() < 0) system_error("open the directory", directory);
    const auto shown = fmt::format("/proc/self/fd/{}/{}", directory_.get(), name);
    if (name.empty() || shown.size() >= sizeof(address_.sun_path))
      fail(Code::invalid_argument, "'", name, "' is no name for a socket: it has 1 to 80 letters");
    address_.sun_family = AF_UNIX;
    std::memcpy(address_.sun_path, shown.c_str(), shown.size() + 1);
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  static socklen_t size() { return sizeof(sockaddr_un); }

 private:
  sockaddr_un address_{};
  Descriptor directory_;
};

Descriptor new_socket(const std::string& path) {
  Descriptor made(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (made.get() < 0) system_error("make the socket", path);
  return made;
}

bool somebody_listens(const std::string& path, const Address& address) {
  const auto probe = new_socket(path);
  return ::connect(probe.get(), address.get(), Address::size()) == 0 || errno == EAGAIN;
}

/// Removes the socket of a run that has ended.
void remove_stale(const std::string& path, const Address& address) {
  struct stat what {};
  if (::lstat(path.c_str(), &what) != 0) return;
  if (!S_ISSOCK(what.st_mode))
    fail(Code::failed_precondition, path, " is in the way of the run's socket: move it, or choose ",
         "another path with --control");
  if (somebody_listens(path, address))
    fail(Code::already_exists, "a run listens at ", path, " already: it is going on");
  ::unlink(path.c_str());
}

/// Whether whoever is at the other end belongs to the same user, or is the administrator.
bool may_order(int client) {
  ucred peer{};
  socklen_t size = sizeof(peer);
  if (::getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == ::geteuid() || peer.uid == 0;
}

std::string refusal(Code code, std::string_view words) {
  return fmt::format("error {}\n{}", static_cast<int>(code), words);
}

}  // namespace

struct ControlSocket::Client {
  Descriptor socket;
  Clock::time_point until;
  std::string order;
  std::string answer;
  bool answered = false;
  bool over = false;
};

std::string control_path(const std::string& directory) { return directory + "/control.sock"; }

ControlSocket::ControlSocket(std::string path, Handler handler)
    : path_(std::move(path)), handler_(std::move(handler)) {
  const Address address(path_);
  auto listener = new_socket(path_);
  // Linux takes the rights of the file from the socket that is not bound yet.
  constexpr mode_t kOwner = 0600;
  if (::fchmod(listener.get(), kOwner) != 0) system_error("protect the socket", path_);
  remove_stale(path_, address);
  if (::bind(listener.get(), address.get(), Address::size()) != 0)
    system_error("make the socket", path_);
  if (::listen(listener.get(), static_cast<int>(kMostClients)) != 0 ||
      ::pipe2(wake_, O_CLOEXEC) != 0) {
    ::unlink(path_.c_str());
    system_error("listen at", path_);
  }
  listener_ = listener.release();
  thread_ = std::thread([this] { serve(); });
}

ControlSocket::~ControlSocket() {
  ::close(wake_[1]);  // the other end sees that
  thread_.join();
  ::close(wake_[0]);
  ::unlink(path_.c_str());
  ::close(listener_);
}

void ControlSocket::serve() {
  std::vector<std::unique_ptr<Client>> clients;
  while (true) {
    std::vector<pollfd> waiting{{wake_[0], POLLIN, 0},
                                {clients.size() < kMostClients ? listener_ : -1, POLLIN, 0}};
    auto next = Clock::time_point::max();
    for (const auto& client : clients) {
      waiting.push_back(
          {client->socket.get(), static_cast<short>(client->answered ? POLLOUT : POLLIN), 0});
      next = std::min(next, client->until);
    }
    int timeout = -1;
    if (!clients.empty())
      timeout = static_cast<int>(std::max<std::int64_t>(
          0,
          std::chrono::duration_cast<std::chrono::milliseconds>(next - Clock::now()).count() + 1));
    if (::poll(waiting.data(), waiting.size(), timeout) < 0 && errno != EINTR) return;
    if (waiting[0].revents != 0) return;
    for (std::size_t i = 0; i < clients.size(); ++i)
      if (waiting[i + 2].revents != 0) take(*clients[i]);
    const auto now = Clock::now();
    std::erase_if(clients,
                  [&](const auto& client) { return client->over || now >= client->until; });
    if (waiting[1].revents == 0) continue;
    Descriptor socket(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() < 0) continue;
    auto client = std::make_unique<Client>();
    if (!may_order(socket.get())) {
      client->answer = refusal(Code::permission_denied, "this run belongs to somebody else");
      client->answered = true;
    }
    client->socket = std::move(socket);
    client->until = now + kPatience;
    clients.push_back(std::move(client));
  }
}

/// Reads on, or writes on, as far as it goes without waiting.
void ControlSocket::take(Client& client) {
  if (!client.answered) {
    char bytes[512];
    const auto count = ::recv(client.socket.get(), bytes, sizeof(bytes), 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) client.over = true;
    if (count <= 0) return;
    client.order.append(bytes, static_cast<std::size_t>(count));
    const auto end = client.order.find('\n');
    if (end == std::string::npos && client.order.size() <= kLongestOrder) return;
    try {
      if (end == std::string::npos || end > kLongestOrder)
        fail(Code::invalid_argument, "an order has at most ", kLongestOrder, " letters");
      client.answer = "ok\n" + handler_(client.order.substr(0, end));
    } catch (const Error& error) {
      client.answer = refusal(error.code(), error.what());
    } catch (const std::exception& error) {
      client.answer = refusal(Code::unknown, error.what());
    }
    client.answered = true;
    client.until = Clock::now() + kPatience;
  }
  const auto sent =
      ::send(client.socket.get(), client.answer.data(), client.answer.size(), MSG_NOSIGNAL);
  if (sent < 0) {
    client.over = errno != EAGAIN && errno != EINTR;
    return;
  }
  client.answer.erase(0, static_cast<std::size_t>(sent));
  client.over = client.answer.empty();
}

std::string send_order(const std::string& path, const std::string& order) {
  struct stat what {};
  if (::lstat(path.c_str(), &what) != 0)
    fail(Code::not_found, "no run listens at ", path, ": there is no such socket");
  if (!S_ISSOCK(what.st_mode)) fail(Code::invalid_argument, path, " is no socket of a run");
  const Address address(path);
  const auto socket = new_socket(path);
  if (::connect(socket.get(), address.get(), Address::size()) != 0) {
    if (errno == ECONNREFUSED)
      fail(Code::not_found, "no run listens at ", path, ": the one that did has ended");
    system_error("connect to", path);
  }
  const auto until = Clock::now() + kAnswer;
  const auto ready = [&](short events) {
    pollfd waiting{socket.get(), events, 0};
    while (true) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
      if (left <= 0) fail(Code::deadline_exceeded, "the run at ", path, " does not answer");
      const auto count = ::poll(&waiting, 1, static_cast<int>(left));
      if (count > 0) return;
      if (count < 0 && errno != EINTR) system_error("wait for", path);
    }
  };
  auto line = order;
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  while (!line.empty()) {
    ready(POLLOUT);
    const auto sent = ::send(socket.get(), line.data(), line.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) break;  // it has answered already
    if (sent < 0 && errno != EAGAIN && errno != EINTR) system_error("write to", path);
    if (sent > 0) line.erase(0, static_cast<std::size_t>(sent));
  }
  std::string answer;
  while (true) {
    ready(POLLIN);
    char bytes[4096];
    const auto count = ::recv(socket.get(), bytes, sizeof(bytes), 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (count <= 0) break;
    answer.append(bytes, static_cast<std::size_t>(count));
    if (answer.size() > kLongestAnswer) break;
  }
  const auto end = answer.find('\n');
  const auto head = answer.substr(0, end);
  const auto words = end == std::string::npos ? std::string() : answer.substr(end + 1);
  if (head == "ok" && end != std::string::npos) return words;
  constexpr std::string_view kError = "error ";
  const auto code = head.starts_with(kError) ? std::atoi(head.c_str() + kError.size()) : 0;
  if (code >= static_cast<int>(Code::cancelled) && code <= static_cast<int>(Code::data_loss))
    throw Error(static_cast<Code>(code), words);
  fail(Code::data_loss, "what listens at ", path, " is no run: it answers '",
       printable(head.substr(0, 60)), "'");
}

}  // namespace troupe::cli
