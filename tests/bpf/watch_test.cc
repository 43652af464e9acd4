// What is recorded and what is not, and that nothing is lost without being counted.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "agent/base/check.h"
#include "agent/probe/kernel_probe.h"
#include "agent/probe/outcome.h"
#include "tests/bpf/network_lab.h"

namespace phantomd {
namespace {

const KernelProbeOptions kOnlyNamed{.watch_new_proxies = false};

std::unique_ptr<KernelProbe> LoadOrDie(const KernelProbeOptions& options) {
  absl::StatusOr<std::unique_ptr<KernelProbe>> probe = KernelProbe::Load(options);
  if (!probe.ok()) ADD_FAILURE() << probe.status();
  PHANTOMD_CHECK(probe.ok());
  return *std::move(probe);
}

std::vector<connect_record> AttemptsOf(const std::vector<ConnectRecord>& records) {
  std::vector<connect_record> out;
  for (const ConnectRecord& record : records) {
    if (const auto* attempt = std::get_if<connect_record>(&record)) out.push_back(*attempt);
  }
  return out;
}

TEST(WatchTest, UnwatchedNamespaceLeavesNothing) {
  const NetworkLab lab;
  const std::unique_ptr<KernelProbe> probe = LoadOrDie(kOnlyNamed);
  Fd listener;
  lab.server.Run([&] { listener = Listen(Family::kV4); });
  const auto connect = [&](Fd& fd) {
    lab.client.Run([&] {
      fd = TcpSocket(Family::kV4, true);
      EXPECT_EQ(Connect(fd, Family::kV4, lab.Server(Family::kV4), LocalPort(listener)), 0);
    });
  };
  Fd unseen;
  Fd seen;
  Fd forgotten;
  connect(unseen);
  ASSERT_TRUE(probe->Watch(lab.client.cookie()).ok());
  EXPECT_THAT(probe->Watched(), testing::ElementsAre(lab.client.cookie()));
  connect(seen);
  ASSERT_TRUE(probe->Unwatch(lab.client.cookie()).ok());
  connect(forgotten);
  const std::vector<connect_record> records = AttemptsOf(probe->TakeConnects(100));
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].source_port, LocalPort(seen));
}

TEST(WatchTest, OnlyTcpToOtherHostsIsAnAttempt) {
  const NetworkLab lab;
  const std::unique_ptr<KernelProbe> probe = LoadOrDie(kOnlyNamed);
  Fd server;
  lab.server.Run([&] { server = Listen(Family::kV4); });
  ASSERT_TRUE(probe->Watch(lab.client.cookie()).ok());
  lab.client.Shell("ip addr add 127.0.0.6/32 dev lo; ip route add blackhole 10.78.0.0/16");
  lab.client.Run([&] {
    const Fd local = Listen(Family::kMapped);
    const uint16_t port = LocalPort(local);
    for (Family family : {Family::kV4, Family::kMapped}) {
      EXPECT_EQ(Connect(TcpSocket(family, true), family, IpAddr::V4(127, 0, 0, 1), port), 0);
      EXPECT_EQ(Connect(TcpSocket(family, true), family, lab.Client(family), port), 0);
      EXPECT_EQ(Connect(TcpSocket(family, true), family, IpAddr::V4(127, 0, 0, 1), 1),
                ECONNREFUSED);
    }
    const IpAddr v6_loopback = *IpAddr::Parse("::1");
    const Fd local_v6 = Listen(Family::kV6);
    EXPECT_EQ(Connect(TcpSocket(Family::kV6, true), Family::kV6, v6_loopback, LocalPort(local_v6)),
              0);

    // Istio's inbound side.
    const Fd inbound = TcpSocket(Family::kV4, true);
    const SocketAddress from = ToSockaddr(Family::kV4, IpAddr::V4(127, 0, 0, 6), 0);
    ASSERT_EQ(bind(inbound.get(), from.get(), from.size), 0);
    EXPECT_EQ(Connect(inbound, Family::kV4, lab.Client(Family::kV4), port), 0);

    // UDP, with and without a route, and AF_UNIX.
    for (const IpAddr& ip : {lab.Server(Family::kV4), IpAddr::V4(10, 78, 0, 1)}) {
      const Fd udp(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      Connect(udp, Family::kV4, ip, 53);
    }
    const Fd unix_socket(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un nowhere{};
    nowhere.sun_family = AF_UNIX;
    std::strcpy(nowhere.sun_path, "/nonexistent");
    EXPECT_NE(connect(unix_socket.get(), reinterpret_cast<sockaddr*>(&nowhere), sizeof(nowhere)),
              0);

    const Fd counted = TcpSocket(Family::kV4, true);
    EXPECT_EQ(Connect(counted, Family::kV4, lab.Server(Family::kV4), LocalPort(server)), 0);
  });
  const std::vector<connect_record> records = AttemptsOf(probe->TakeConnects(1000));
  ASSERT_EQ(records.size(), 1u) << ToAttempt(records[0]).destination.ToString();
  EXPECT_EQ(records[0].destination_port, LocalPort(server));
}

TEST(WatchTest, CgroupWatchRecordsOnlyThatCgroup) {
  const NetworkLab lab;
  const std::unique_ptr<KernelProbe> probe = LoadOrDie(kOnlyNamed);
  const auto refused = [&] {
    lab.client.Run([&] {
      EXPECT_EQ(Connect(TcpSocket(Family::kV4, true), Family::kV4, lab.Server(Family::kV4), 9),
                ECONNREFUSED);
    });
  };
  ASSERT_TRUE(probe->Watch(lab.client.cookie()).ok());
  refused();
  const std::vector<connect_record> first = AttemptsOf(probe->TakeConnects(100));
  ASSERT_EQ(first.size(), 1u);
  const uint64_t own_cgroup = first[0].cgroup_id;

  ASSERT_TRUE(probe->Unwatch(lab.client.cookie()).ok());
  ASSERT_TRUE(probe->WatchCgroup(lab.client.cookie(), own_cgroup + 1).ok());
  refused();
  EXPECT_TRUE(probe->TakeConnects(100).empty());
  ASSERT_TRUE(probe->WatchCgroup(lab.client.cookie(), own_cgroup).ok());
  refused();
  EXPECT_EQ(AttemptsOf(probe->TakeConnects(100)).size(), 1u);
  ASSERT_TRUE(probe->UnwatchCgroup(lab.client.cookie(), own_cgroup).ok());
  refused();
  EXPECT_TRUE(probe->TakeConnects(100).empty());
}

// The accepting side and the connecting side of one handshake name it alike.
TEST(WatchTest, BothEndsOfAHandshakeKnowItsSequenceNumbers) {
  for (Family family : kFamilies) {
    const NetworkLab lab;
    const std::unique_ptr<KernelProbe> probe = LoadOrDie(kOnlyNamed);
    Fd listener;
    lab.server.Run([&] { listener = Listen(family); });
    ASSERT_TRUE(probe->Watch(lab.client.cookie()).ok());
    ASSERT_TRUE(probe->Watch(lab.server.cookie()).ok());
    Fd fd;
    lab.client.Run([&] {
      fd = TcpSocket(family, true);
      ASSERT_EQ(Connect(fd, family, lab.Server(family), LocalPort(listener)), 0);
    });
    std::vector<ConnectRecord> records;
    ASSERT_TRUE(WaitFor([&] {
      for (const ConnectRecord& record : probe->TakeConnects(100)) records.push_back(record);
      return records.size() == 2;
    }));
    const auto& connected = std::get<connect_record>(records[0]);
    const auto& accepted = std::get<accept_record>(records[1]);
    EXPECT_EQ(connected.client_isn, accepted.client_isn);
    EXPECT_EQ(connected.server_isn, accepted.server_isn);
    EXPECT_EQ(accepted.netns_cookie, lab.server.cookie());
    EXPECT_EQ(accepted.uid, geteuid());
    EXPECT_EQ(accepted.cgroup_id, connected.cgroup_id);
    EXPECT_EQ(accepted.local_port, LocalPort(listener));
    EXPECT_EQ(accepted.remote_port, LocalPort(fd));
    EXPECT_EQ(IpAddr::FromBytes(accepted.local), lab.Server(family));
    EXPECT_EQ(IpAddr::FromBytes(accepted.remote), lab.Client(family));
  }
}

// Every connect is either in a record or in a counter, also when nobody reads the ring.
TEST(WatchTest, RecordsAndCountersTogetherAreTheTruth) {
  const NetworkLab lab;
  KernelProbeOptions options = kOnlyNamed;
  options.ring_bytes = getpagesize();
  const std::unique_ptr<KernelProbe> probe = LoadOrDie(options);
  lab.client.Shell("ip route add blackhole 10.78.0.0/16");
  ASSERT_TRUE(probe->Watch(lab.client.cookie()).ok());
  constexpr uint64_t kRefused = 2000;
  constexpr uint64_t kNoRoute = 1000;
  lab.client.Run([&] {
    for (uint64_t i = 0; i < kRefused; ++i) {
      ASSERT_EQ(Connect(TcpSocket(Family::kV4, true), Family::kV4, lab.Server(Family::kV4), 9),
                ECONNREFUSED);
      if (i % 2 == 0) {
        ASSERT_EQ(Connect(TcpSocket(Family::kV4, true), Family::kV4, IpAddr::V4(10, 78, 0, 1), 9),
                  EINVAL);
      }
    }
  });
  uint64_t refused = 0;
  uint64_t no_route = 0;
  for (const connect_record& record : AttemptsOf(probe->TakeConnects(10'000))) {
    const Outcome outcome = ClassifyConnect(record).outcome;
    refused += outcome == Outcome::kRefused;
    no_route += outcome == Outcome::kNoRoute;
  }
  const KernelTotals totals = probe->ReadTotals();
  const connect_counters& attempts = totals[CONNECT_RECORD_ATTEMPT];
  const connect_counters& failures = totals[CONNECT_RECORD_SYNC_FAILURE];
  EXPECT_GT(refused, 0u);
  EXPECT_GT(attempts.lost, 0u);
  EXPECT_EQ(refused, attempts.submitted);
  EXPECT_EQ(no_route, failures.submitted);
  EXPECT_EQ(refused + attempts.lost, kRefused) << "runs skipped " << probe->ReadSkippedRuns();
  EXPECT_EQ(no_route + failures.lost, kNoRoute);
}

// The same with a reader and two busy threads: nothing is lost at all.
TEST(WatchTest, ReaderOnATimerKeepsUpWithAStorm) {
  const NetworkLab lab;
  const std::unique_ptr<KernelProbe> probe = LoadOrDie(kOnlyNamed);
  ASSERT_TRUE(probe->Watch(lab.client.cookie()).ok());
  constexpr uint64_t kPerThread = 20'000;
  std::atomic<int> running = 2;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      lab.client.Run([&] {
        for (uint64_t n = 0; n < kPerThread; ++n) {
          Connect(TcpSocket(Family::kV4, true), Family::kV4, lab.Server(Family::kV4), 9);
        }
      });
      --running;
    });
  }
  uint64_t records = 0;
  for (bool last = false; !last; usleep(1000)) {
    last = running == 0;
    records += probe->TakeConnects(1'000'000).size();
  }
  for (std::thread& thread : threads) thread.join();
  const KernelTotals totals = probe->ReadTotals();
  EXPECT_EQ(totals[CONNECT_RECORD_ATTEMPT].lost, 0u);
  EXPECT_EQ(records + totals[CONNECT_RECORD_ATTEMPT].storage_failed, 2 * kPerThread)
      << "runs skipped " << probe->ReadSkippedRuns();
}

// Timers end attempts in whatever a CPU is doing, the recording of another attempt included.
TEST(WatchTest, AttemptsEndedByTimersUnderLoadAreAllThere) {
  const NetworkLab lab;
  const std::unique_ptr<KernelProbe> probe = LoadOrDie(kOnlyNamed);
  ASSERT_TRUE(probe->Watch(lab.client.cookie()).ok());
  constexpr uint64_t kTimedOut = 800;
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> refused = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      lab.client.Run([&] {
        for (; !stop; ++refused) {
          Connect(TcpSocket(Family::kV4, true), Family::kV4, lab.Server(Family::kV4), 9);
        }
      });
    });
  }
  std::vector<Fd> waiting;
  lab.client.Run([&] {
    for (uint64_t i = 0; i < kTimedOut; ++i) {
      waiting.push_back(TcpSocket(Family::kV4, false));
      SetOption(waiting.back(), IPPROTO_TCP, TCP_USER_TIMEOUT, 500);
      ASSERT_EQ(Connect(waiting.back(), Family::kV4, lab.Silent(Family::kV4), 80), EINPROGRESS);
    }
  });
  uint64_t seen_timed_out = 0;
  uint64_t seen_refused = 0;
  const auto take = [&] {
    for (const connect_record& record : AttemptsOf(probe->TakeConnects(1'000'000))) {
      const Outcome outcome = ClassifyConnect(record).outcome;
      seen_timed_out += outcome == Outcome::kTimedOut;
      seen_refused += outcome == Outcome::kRefused;
    }
  };
  EXPECT_TRUE(WaitFor([&] {
    take();
    return seen_timed_out >= kTimedOut;
  }));
  stop = true;
  for (std::thread& thread : threads) thread.join();
  take();
  EXPECT_EQ(probe->ReadTotals()[CONNECT_RECORD_ATTEMPT].lost, 0u);
  EXPECT_EQ(seen_timed_out, kTimedOut);
  EXPECT_EQ(seen_refused, refused);
}

}  // namespace
}  // namespace phantomd
