// Ten agents, one after the other, under constant load: with pins, nothing is lost and nothing is
// told twice.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "agent/base/check.h"
#include "agent/probe/kernel_probe.h"
#include "agent/probe/pin_directory.h"
#include "tests/bpf/bpf_file_system.h"
#include "tests/bpf/network_lab.h"

namespace phantomd {
namespace {

constexpr uint32_t kRingOfReaders = 64 * 1024 * 1024;  // as pin_reader.cc has it

// An agent of its own process. What it has read comes up a pipe.
class Reader {
 public:
  Reader(const std::string& pins, uint64_t netns_cookie) {
    int to[2];
    int from[2];
    PHANTOMD_CHECK(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    const std::string program =
        std::filesystem::canonical("/proc/self/exe").parent_path() / "pin_reader";
    const std::string cookie = std::to_string(netns_cookie);
    pid_ = fork();
    PHANTOMD_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      if (dup2(to[0], 0) < 0 || dup2(from[1], 1) < 0) _exit(126);
      execl(program.c_str(), program.c_str(), pins.c_str(), cookie.c_str(), nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = Fd(to[1]);
    from_ = fdopen(from[0], "r");
    PHANTOMD_CHECK(from_ != nullptr);
  }
  ~Reader() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    fclose(from_);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // The next line; empty at the end.
  std::string Line() {
    char line[128] = {};
    return fgets(line, sizeof(line), from_) == nullptr ? "" : line;
  }
  void Stop() { to_.Close(); }
  void Kill() { kill(pid_, SIGKILL); }
  int Wait() {
    int status = 0;
    PHANTOMD_CHECK(waitpid(pid_, &status, 0) == pid_);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  Fd to_;
  FILE* from_ = nullptr;
};

// What all agents together have read.
class Readings {
 public:
  void Add(const std::string& line) {
    if (line == "released\n") {
      unreleased_.clear();
    } else if (line != "ready\n") {
      unreleased_.insert(line);
      if (seen_.insert(line).second) {
        ++by_kind_[line.substr(0, line.find(' '))];
      } else if (of_the_dead_.erase(line) > 0) {
        ++read_again_;
      } else {
        ++repeated_;
      }
    }
  }
  // What it had not released, as far as we were told, may be read again by the next.
  void AgentDied() { of_the_dead_ = std::exchange(unreleased_, {}); }
  uint64_t Of(const std::string& kind) { return by_kind_[kind]; }
  uint64_t repeated() const { return repeated_; }
  uint64_t read_again() const { return read_again_; }

 private:
  std::set<std::string> seen_;
  std::set<std::string> unreleased_;   // of the living agent
  std::set<std::string> of_the_dead_;  // unreleased
  std::map<std::string, uint64_t> by_kind_;
  uint64_t repeated_ = 0;
  uint64_t read_again_ = 0;
};

// Connects of every kind of record, without a pause, until it is told to end.
class Load {
 public:
  explicit Load(const NetworkLab& lab) : lab_(lab) {
    lab_.client.Shell("ip route add blackhole 10.78.0.0/16");
    lab_.server.Run([&] { listener_ = Listen(Family::kV4); });
    acceptor_ = std::thread([this] {
      for (int fd = 0; (fd = accept(listener_.get(), nullptr, nullptr)) >= 0;) close(fd);
    });
    connector_ = std::thread([this] { lab_.client.Run([this] { Connects(); }); });
  }
  ~Load() { End(); }

  void End() {
    if (!connector_.joinable()) return;
    stop_ = true;
    connector_.join();
    shutdown(listener_.get(), SHUT_RDWR);
    acceptor_.join();
  }
  uint64_t attempts() const { return attempts_; }
  uint64_t failures() const { return failures_; }

 private:
  void Connects() {
    const IpAddr server = lab_.Server(Family::kV4);
    const linger reset{1, 0};
    for (; !stop_; attempts_ += 3, failures_ += 1) {
      EXPECT_EQ(Connect(TcpSocket(Family::kV4, true), Family::kV4, server, 9), ECONNREFUSED);
      const Fd silent = TcpSocket(Family::kV4, false);
      EXPECT_EQ(Connect(silent, Family::kV4, lab_.Silent(Family::kV4), 80), EINPROGRESS);
      EXPECT_EQ(Connect(TcpSocket(Family::kV4, true), Family::kV4, IpAddr::V4(10, 78, 0, 1), 80),
                EINVAL);
      const Fd answered = TcpSocket(Family::kV4, true);
      EXPECT_EQ(Connect(answered, Family::kV4, server, LocalPort(listener_)), 0);
      setsockopt(answered.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    }
  }

  const NetworkLab& lab_;
  Fd listener_;
  std::atomic<bool> stop_ = false;
  std::atomic<uint64_t> attempts_ = 0;
  std::atomic<uint64_t> failures_ = 0;
  std::thread acceptor_;
  std::thread connector_;
};

TEST(RestartTest, TenRestartsUnderLoadLoseAndRepeatNothing) {
  const std::string pins = BpfFileSystem() + "/restart";
  const NetworkLab lab;
  Readings readings;
  auto reader = std::make_unique<Reader>(pins, lab.client.cookie());
  ASSERT_EQ(reader->Line(), "ready\n");
  Load load(lab);
  for (int restart = 0; restart < 10; ++restart) {
    for (int line = 0; line < 5000; ++line) readings.Add(reader->Line());
    const bool kill = restart % 2 == 0;
    if (kill) {
      reader->Kill();
    } else {
      reader->Stop();
    }
    for (std::string line; !(line = reader->Line()).empty();) {
      if (line.back() == '\n') readings.Add(line);
    }
    EXPECT_EQ(reader->Wait(), kill ? SIGKILL : 0);
    readings.AgentDied();
    // The load goes on while nobody reads.
    const uint64_t attempts = load.attempts();
    ASSERT_TRUE(WaitFor([&] { return load.attempts() > attempts + 1000; }));
    reader = std::make_unique<Reader>(pins, lab.client.cookie());
    ASSERT_EQ(reader->Line(), "ready\n");
  }
  load.End();
  reader->Stop();
  for (std::string line; !(line = reader->Line()).empty();) readings.Add(line);
  EXPECT_EQ(reader->Wait(), 0);
  std::printf(
      "%llu attempts, %llu synchronous failures, ten restarts; %llu records were read again "
      "because an agent was killed with them\n",
      static_cast<unsigned long long>(load.attempts()),
      static_cast<unsigned long long>(load.failures()),
      static_cast<unsigned long long>(readings.read_again()));
  EXPECT_EQ(readings.Of("attempt"), load.attempts());
  EXPECT_EQ(readings.Of("failure"), load.failures());
  EXPECT_EQ(readings.repeated(), 0u);
  // Two agents' programs at once take no connect for one that was never seen to end.
  {
    const auto last = KernelProbe::Load(
        {.ring_bytes = kRingOfReaders, .watch_new_proxies = false, .pin_dir = pins});
    ASSERT_TRUE(last.ok()) << last.status();
    const KernelTotals totals = (*last)->ReadTotals();
    EXPECT_EQ(totals[CONNECT_RECORD_ATTEMPT].unseen, 0u);
    EXPECT_EQ(totals[CONNECT_RECORD_END].unseen, 0u);
  }
  EXPECT_TRUE(PinDirectory::Remove(pins).ok());
}

}  // namespace
}  // namespace phantomd
