// Namespaces and proxies that come and go under load, with process IDs and inode numbers used again
// and again: every attempt belongs to the proxy that made it, and nothing stays behind.
//
// PHANTOMD_CHURN (100) is how many namespaces.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <variant>

#include "agent/base/check.h"
#include "agent/base/clock.h"
#include "agent/probe/probe.h"
#include "tests/bpf/fake_proxy_process.h"
#include "tests/bpf/storm_holdings.h"
#include "tests/bpf/storm_net.h"

namespace phantomd {
namespace {

constexpr int kAlive = 6;    // namespaces at a time
constexpr int kWarmUp = 20;  // after which the process has what it needs
constexpr int kFirstPid = 20'000;

int Namespaces() {
  const char* text = std::getenv("PHANTOMD_CHURN");
  return text == nullptr ? 100 : std::atoi(text);
}

// The next process gets this ID, if it is free.
void AskForPid(int pid) { std::ofstream("/proc/sys/kernel/ns_last_pid") << pid - 1; }

// What one namespace and its proxy did, and what was recorded of it. Its destination is its own.
struct Life {
  uint64_t netns_cookie = 0;
  uint32_t pid = 0;
  ProxyId proxy_id;  // as discovered in this namespace; empty: not yet
  int discovered = 0;
  int gone = 0;
  int by_proxy = 0;
  int by_application = 0;
};

class ChurnTest : public testing::Test {
 protected:
  struct Alive {
    NetworkNamespace netns;
    std::unique_ptr<FakeProxy> proxy;
  };

  void SetUp() override {
    lives_.resize(Namespaces());
    net_.server.Run([&] { listener_ = Listen(Family::kV4, 8080); });
    steady_ = std::make_unique<FakeProxy>(FakeProxy::Installed("envoy"), net_.clients[0],
                                          std::vector<std::string>{"-c", "x"});
    steady_->Do("listen v4 0");
    absl::StatusOr<std::unique_ptr<Probe>> probe = Probe::Start({}, SystemClock().Now());
    ASSERT_TRUE(probe.ok()) << probe.status();
    probe_ = *std::move(probe);
    Consume();
    ASSERT_FALSE(steady_id_.empty());
  }

  // A /30 each: .1 the server, .2 the client.
  static IpAddr Address(int index, int host) {
    const uint32_t number = index * 4 + host;
    return IpAddr::V4(10, 96 + (number >> 16), number >> 8 & 255, number & 255);
  }
  static int IndexOf(const IpAddr& server) {
    const auto& b = server.bytes();
    return (((b[13] - 96) << 16) + (b[14] << 8) + b[15]) / 4;
  }

  void Begin(int index) {
    Alive alive;
    alive.netns.Shell(fmt::format(
        "ip -batch - <<END\nlink set lo up\nlink add v0 type veth peer name w{0} netns {1}\n"
        "link set v0 up\naddr add {2}/30 dev v0\nEND\n",
        index, net_.server.path(), Address(index, 2).ToString()));
    const IpAddr server = Address(index, 1);
    net_.server.Shell(
        fmt::format("ip link set w{0} up; ip addr add {1}/30 dev w{0}", index, server.ToString()));
    struct stat file {};
    PHANTOMD_CHECK(fstat(alive.netns.fd(), &file) == 0);
    reused_inodes_ += !inodes_.insert(file.st_ino).second;
    lives_[index].netns_cookie = alive.netns.cookie();
    by_cookie_[alive.netns.cookie()] = index;

    AskForPid(kFirstPid + index % (kAlive + 2));
    alive.proxy = std::make_unique<FakeProxy>(
        FakeProxy::Installed("envoy"), alive.netns, std::vector<std::string>{"-c", "x"},
        FakeProxyOptions{.first = fmt::format("v4 {} 9", server.ToString())});
    reused_pids_ += !pids_.insert(alive.proxy->pid()).second;
    lives_[index].pid = alive.proxy->pid();
    for (int i = 0; i < 2; ++i) alive.proxy->Connect("worker", Family::kV4, server, 8080);
    alive.netns.Run([&] {
      PHANTOMD_CHECK(Connect(TcpSocket(Family::kV4, true), Family::kV4, server, 9) == ECONNREFUSED);
    });
    alive_.push_back(std::move(alive));
    if (alive_.size() > kAlive) alive_.pop_front();
  }

  void Consume(BootTime now = SystemClock().Now()) {
    probe_->Consume(now, [&](ProbeOutput output) { Keep(output); });
  }

  void Keep(const ProbeOutput& output) {
    if (const auto* proxy = std::get_if<DiscoveredProxy>(&output)) {
      if (proxy->proxy.netns_cookie == net_.clients[0].cookie()) steady_id_ = proxy->proxy.id;
      const auto found = by_cookie_.find(proxy->proxy.netns_cookie);
      if (found == by_cookie_.end()) return;
      Life& life = lives_[found->second];
      if (proxy->gone) {
        ++life.gone;
      } else {
        ++life.discovered;
        life.proxy_id = proxy->proxy.id;
      }
      EXPECT_EQ(proxy->proxy.id, life.proxy_id);
    } else if (const auto* attempt = std::get_if<Attempt>(&output)) {
      Keep(*attempt);
    } else if (const auto* loss = std::get_if<Loss>(&output)) {
      std::printf("lost: %lu of %s\n", loss->count, loss->what.c_str());
      ++losses_;
    }
  }

  void Keep(const Attempt& attempt) {
    if (attempt.netns_cookie == net_.clients[0].cookie()) {
      misplaced_ += attempt.destination.ip != StormNet::Server(0, Family::kV4) ||
                    attempt.proxy_id != steady_id_;
      ++load_recorded_;
      return;
    }
    const auto found = by_cookie_.find(attempt.netns_cookie);
    if (found == by_cookie_.end()) return;  // another proxy of this machine
    Life& life = lives_[found->second];
    const bool proxy = attempt.initiator == Initiator::kProxy;
    misplaced_ += IndexOf(attempt.destination.ip) != found->second ||
                  attempt.proxy_id != life.proxy_id || life.proxy_id.empty() ||
                  (attempt.process_id == life.pid) != proxy;
    ++(proxy ? life.by_proxy : life.by_application);
  }

  // Connects in the steady proxy's namespace until told to stop; says how many.
  uint64_t Load(const std::atomic<bool>& stop) {
    uint64_t done = 0;
    net_.clients[0].Run([&] {
      for (; !stop; std::this_thread::sleep_for(std::chrono::milliseconds(10))) {
        for (int i = 0; i < 40; ++i, ++done) {
          PHANTOMD_CHECK(Connect(TcpSocket(Family::kV4, true), Family::kV4,
                                 StormNet::Server(0, Family::kV4), 9) == ECONNREFUSED);
        }
      }
    });
    return done;
  }

  const StormNet net_{1};
  Fd listener_;
  std::unique_ptr<FakeProxy> steady_;
  ProxyId steady_id_;
  std::unique_ptr<Probe> probe_;
  std::deque<Alive> alive_;
  std::vector<Life> lives_;
  std::map<uint64_t, int> by_cookie_;
  std::set<uint64_t> inodes_;
  std::set<uint32_t> pids_;
  int reused_inodes_ = 0;
  int reused_pids_ = 0;
  int misplaced_ = 0;
  int losses_ = 0;
  uint64_t load_recorded_ = 0;
};

TEST_F(ChurnTest, AttemptsBelongToTheirProxyAndNothingStaysBehind) {
  std::atomic<bool> stop = false;
  uint64_t load_done = 0;
  std::thread load([&] { load_done = Load(stop); });
  Holdings before;
  const int warm_up = Namespaces() / 5;  // after which the process has what it needs
  for (int i = 0; i < Namespaces(); ++i) {
    if (i == warm_up) before = Holdings::Now();
    Begin(i);
    Consume();
    // What was accepted stays in the backlog's sockets otherwise.
    for (int k = 0; k < 2; ++k) Fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  }
  const Holdings during = Holdings::Now();
  alive_.clear();
  stop = true;
  load.join();

  EXPECT_TRUE(WaitFor([&] {
    Consume();
    int gone = 0;
    for (const Life& life : lives_) gone += life.gone;
    return gone == Namespaces();
  }));
  // Scans and all that is kept for a while.
  const BootTime end = SystemClock().Now();
  for (int minute = 1; minute <= 10; ++minute) Consume(end + std::chrono::minutes(minute));

  const BpfObjects objects = BpfObjects::Mine();
  const Holdings after = Holdings::Now();
  std::printf("namespaces %d, inode numbers used again %d, process IDs used again %d\n",
              Namespaces(), reused_inodes_, reused_pids_);
  std::printf("load: %lu connects beside, %lu recorded; attempts in a wrong place: %d\n", load_done,
              load_recorded_, misplaced_);
  std::printf("after %3d: %s\nafter %3d: %s\nall gone:  %s\n", warm_up, before.ToString().c_str(),
              Namespaces(), during.ToString().c_str(), after.ToString().c_str());

  int recorded = 0;
  EXPECT_GT(reused_inodes_, Namespaces() / 10);
  EXPECT_GT(reused_pids_, Namespaces() / 2);
  EXPECT_EQ(misplaced_, 0);
  for (const Life& life : lives_) {
    EXPECT_LE(life.by_proxy, 3);
    EXPECT_LE(life.by_application, 1);
    EXPECT_EQ(life.gone, 1);
    recorded += life.by_proxy + life.by_application;
  }
  EXPECT_LE(load_recorded_, load_done);
  if (losses_ == 0) {
    EXPECT_EQ(recorded, 4 * Namespaces());
    EXPECT_EQ(load_recorded_, load_done);
  }
  const std::set<uint64_t> watched = objects.KeysOf<uint64_t>("watched");
  const std::set<uint32_t> followed = objects.KeysOf<uint32_t>("proxy_processes");
  EXPECT_EQ(watched.count(net_.clients[0].cookie()), 1u);
  EXPECT_EQ(followed.count(steady_->pid()), 1u);
  for (const Life& life : lives_) {
    EXPECT_EQ(watched.count(life.netns_cookie), 0u);
    EXPECT_EQ(followed.count(life.pid), 0u);
  }
  EXPECT_EQ(after.maps, before.maps);
  EXPECT_EQ(after.programs, before.programs);
  EXPECT_EQ(after.links, before.links);
  EXPECT_LT(after.descriptors, before.descriptors);  // those of the namespaces that lived then
  EXPECT_LT(after.heap_bytes, before.heap_bytes + 64 * 1024 + 256 * Namespaces());

  EXPECT_TRUE(objects.AnyAlive());
  probe_.reset();
  EXPECT_TRUE(WaitFor([&] { return !objects.AnyAlive(); }));
  const Holdings without = Holdings::Now();
  std::printf("no probe:  %s\n", without.ToString().c_str());
  EXPECT_EQ(without.maps + without.programs + without.links, 0);
}

}  // namespace
}  // namespace phantomd
