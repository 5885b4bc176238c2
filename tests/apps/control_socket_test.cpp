#include "control_socket.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <random>

#include "support/error_matcher.h"
#include "support/temporary_directory.h"

namespace troupe::cli {
namespace {

using test::error_of;
using test::IsError;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class AControlSocket : public ::testing::Test {
 protected:
  test::TemporaryDirectory directory;
  std::string path = directory / "control.sock";
  std::atomic<int> orders{0};

  std::string obey(const std::string& order) {
    ++orders;
    if (order == "fail") fail(Code::resource_exhausted, "too much");
    if (order == "throw") throw std::runtime_error("odd");
    if (order == "long") return std::string(300'000, 'x');
    return "did " + order;
  }
  ControlSocket listening() {
    return ControlSocket(path, [this](const std::string& order) { return obey(order); });
  }
  /// Sends bytes as they are, and returns all that is answered.
  std::string raw(std::string bytes) {
    const int client = connected();
    while (!bytes.empty()) {
      const auto sent = ::send(client, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;  // the other side has had enough
      bytes.erase(0, static_cast<std::size_t>(sent));
    }
    ::shutdown(client, SHUT_WR);
    std::string answer;
    char some[4096];
    for (ssize_t count; (count = ::recv(client, some, sizeof(some), 0)) > 0;)
      answer.append(some, static_cast<std::size_t>(count));
    ::close(client);
    return answer;
  }
  int connected() const {
    const int client = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(::connect(client, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return client;
  }
};

TEST_F(AControlSocket, AnswersOrders) {
  const auto socket = listening();
  EXPECT_EQ(send_order(path, "this and that"), "did this and that");
  EXPECT_EQ(send_order(path, ""), "did ");
  EXPECT_EQ(send_order(path, "two\nlines"), "did two lines");
  EXPECT_EQ(send_order(path, "long").size(), 300'000U);
}

TEST_F(AControlSocket, SaysWhatCannotBeDone) {
  const auto socket = listening();
  EXPECT_THAT(error_of([&] { send_order(path, "fail"); }),
              IsError(Code::resource_exhausted, "too much"));
  EXPECT_THAT(error_of([&] { send_order(path, "throw"); }), IsError(Code::unknown, "odd"));
  EXPECT_THAT(error_of([&] { send_order(path, std::string(5'000, 'x')); }),
              IsError(Code::invalid_argument, HasSubstr("at most 4096 letters")));
}

TEST_F(AControlSocket, IsForItsOwner) {
  const auto socket = listening();
  struct stat what {};
  ASSERT_EQ(::stat(path.c_str(), &what), 0);
  EXPECT_EQ(what.st_mode & 0777U, 0600U);
}

TEST_F(AControlSocket, IsGoneWithTheRun) {
  { const auto socket = listening(); }
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THAT(error_of([&] { send_order(path, "x"); }),
              IsError(Code::not_found, StartsWith("no run listens at ")));
}

TEST_F(AControlSocket, ReplacesThatOfARunThatWasKilled) {
  const int dead = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(dead, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ::close(dead);
  EXPECT_THAT(error_of([&] { send_order(path, "x"); }),
              IsError(Code::not_found, HasSubstr("has ended")));
  const auto socket = listening();
  EXPECT_EQ(send_order(path, "x"), "did x");
}

TEST_F(AControlSocket, TakesNobodysPlace) {
  {
    const auto socket = listening();
    EXPECT_THAT(error_of([&] { listening(); }),
                IsError(Code::already_exists, HasSubstr("it is going on")));
    EXPECT_EQ(send_order(path, "x"), "did x");
  }
  test::write_file(path, "precious");
  EXPECT_THAT(error_of([&] { listening(); }),
              IsError(Code::failed_precondition, HasSubstr("is in the way")));
  EXPECT_THAT(error_of([&] { send_order(path, "x"); }),
              IsError(Code::invalid_argument, HasSubstr("is no socket of a run")));
  EXPECT_EQ(test::read_file(path), "precious");
}

TEST_F(AControlSocket, StandsInDirectoriesWithLongNames) {
  const auto deep = directory / (std::string(200, 'd') + "/" + std::string(200, 'e'));
  std::filesystem::create_directories(deep);
  path = deep + "/control.sock";
  const auto socket = listening();
  EXPECT_EQ(send_order(path, "x"), "did x");
  EXPECT_THAT(error_of([&] { send_order(deep + "/" + std::string(100, 'f'), "x"); }),
              IsError(Code::not_found, HasSubstr("there is no such socket")));
}

TEST_F(AControlSocket, SurvivesWhateverIsSent) {
  const auto socket = listening();
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    std::string bytes(random() % 6'000, '\0');
    for (auto& byte : bytes) byte = static_cast<char>(random() % 256);
    const auto answer = raw(bytes);
    EXPECT_TRUE(answer.empty() || answer.starts_with("ok\n") || answer.starts_with("error "))
        << answer;
  }
  EXPECT_EQ(raw(""), "");
  EXPECT_EQ(raw("no line end"), "");
  EXPECT_EQ(raw("a\nb\n"), "ok\ndid a");
  EXPECT_EQ(send_order(path, "x"), "did x");
}

TEST_F(AControlSocket, WaitsForNobodyWhoIsSilent) {
  const auto socket = listening();
  std::vector<int> silent;
  for (int i = 0; i < 5; ++i) silent.push_back(connected());
  EXPECT_EQ(send_order(path, "x"), "did x");
  for (const auto client : silent) ::close(client);
  EXPECT_EQ(send_order(path, "y"), "did y");
  EXPECT_EQ(orders, 2);
}

TEST_F(AControlSocket, KnowsWhatIsNoRun) {
  const int other = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(other, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(other, 1), 0);
  std::thread stranger([&] {
    const int client = ::accept(other, nullptr, nullptr);
    (void)!::write(client, "\x1b[31mhello\n", 11);
    ::close(client);
  });
  EXPECT_THAT(error_of([&] { send_order(path, "x"); }),
              IsError(Code::data_loss, HasSubstr("is no run: it answers '\\x1b[31mhello'")));
  stranger.join();
  ::close(other);
}

}  // namespace
}  // namespace troupe::cli
