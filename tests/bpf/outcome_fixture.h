// What the tests of the outcome table share: two namespaces, a probe that watches one of them, and
// the rule that an action leaves exactly one record with exactly the expected values.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/base/check.h"
#include "agent/base/clock.h"
#include "agent/probe/kernel_probe.h"
#include "agent/probe/outcome.h"
#include "tests/bpf/network_lab.h"

namespace phantomd {

struct Expected {
  Outcome outcome = Outcome::kUnspecified;
  int32_t error_number = 0;
  uint32_t icmp_type = 0;
  uint32_t icmp_code = 0;
  int64_t syn_retransmits = 0;  // -1: as many as the timing of the moment makes
};

inline const char* NameOf(Outcome outcome) {
  constexpr const char* kNames[] = {"UNSPECIFIED", "ESTABLISHED", "REFUSED",
                                    "TIMED_OUT",   "ABANDONED",   "UNREACHABLE",
                                    "NO_ROUTE",    "LOCAL_ERROR", "OTHER_ERROR"};
  return kNames[static_cast<int>(outcome)];
}

inline std::string Show(const Expected& e) {
  return fmt::format("{} errno {} icmp {}/{} retransmits {}", NameOf(e.outcome), e.error_number,
                     e.icmp_type, e.icmp_code, e.syn_retransmits);
}

class OutcomeTest : public testing::TestWithParam<Family> {
 protected:
  static void SetUpTestSuite() {
    lab_ = new NetworkLab;
    absl::StatusOr<std::unique_ptr<KernelProbe>> probe =
        KernelProbe::Load({.watch_new_proxies = false});
    ASSERT_TRUE(probe.ok()) << probe.status();
    probe_ = probe->release();
    ASSERT_TRUE(probe_->Watch(lab_->client.cookie()).ok());
    ASSERT_TRUE(probe_->limitations().empty()) << probe_->limitations().front();
    lab_->server.Run([] {
      listener_v4_ = new Fd(Listen(Family::kV4));
      listener_v6_ = new Fd(Listen(Family::kV6, LocalPort(*listener_v4_) + 1));
    });
    // Neighbour entries, so that no test begins with address resolution.
    lab_->client.Run([] {
      for (Family family : kFamilies) {
        Fd fd = TcpSocket(family, true);
        ASSERT_EQ(Connect(fd, family, lab_->Server(family), OpenPort(family)), 0);
      }
    });
    Drain();
  }

  static void TearDownTestSuite() {
    delete listener_v4_;
    delete listener_v6_;
    delete probe_;
    delete lab_;
  }

  Family family() const { return GetParam(); }
  static uint16_t OpenPort(Family family) {
    return LocalPort(family == Family::kV6 ? *listener_v6_ : *listener_v4_);
  }

  // Does `action` in the client's namespace, which must leave one record as expected. A connect
  // that is known to be recorded marks the end of what the action has left.
  void Check(const char* what, const IpAddr& destination, uint16_t port, const Expected& expected,
             const std::function<void()>& action) {
    const BootTime before = SystemClock().Now();
    uint32_t thread = 0;
    lab_->client.Run([&] {
      thread = gettid();
      action();
    });
    const BootTime after = SystemClock().Now();
    uint16_t marker_port = 0;
    Fd marker;
    lab_->client.Run([&] {
      marker = TcpSocket(Family::kV4, true);
      ASSERT_EQ(Connect(marker, Family::kV4, lab_->Server(Family::kV4), OpenPort(Family::kV4)), 0);
      marker_port = LocalPort(marker);
    });
    std::vector<Attempt> seen;
    ASSERT_TRUE(WaitFor([&] {
      for (const ConnectRecord& record : probe_->TakeConnects(1000)) {
        const Attempt attempt = ToAttempt(std::get<connect_record>(record));
        if (attempt.source.port == marker_port && attempt.thread_id != thread) return true;
        seen.push_back(attempt);
      }
      return false;
    }));
    ASSERT_EQ(seen.size(), 1u) << what << "; " << Totals();
    const Attempt& a = seen[0];
    const Expected got{a.outcome, a.error_number, a.icmp_type, a.icmp_code,
                       expected.syn_retransmits < 0 ? int64_t{-1} : a.syn_retransmits};
    std::printf("%-34s %-6s expected %-50s seen %s\n", what, NameOf(family()),
                Show(expected).c_str(), Show(got).c_str());
    EXPECT_EQ(Show(got), Show(expected)) << what;
    EXPECT_EQ(a.destination.ToString(), (SocketAddr{destination, port}.ToString()));
    EXPECT_EQ(a.netns_cookie, lab_->client.cookie());
    EXPECT_NE(a.cgroup_id, 0u);
    EXPECT_LT(a.process_start, a.started);
    EXPECT_GE(a.started, before);
    EXPECT_GE(a.ended, a.started);
    EXPECT_LE(a.ended, after);
    if (expect_own_identity_) {
      EXPECT_EQ(a.process_id, static_cast<uint32_t>(getpid()));
      EXPECT_EQ(a.thread_id, thread);
    }
    if (expected.outcome == Outcome::kNoRoute) {
      EXPECT_TRUE(a.source.ip.is_unset());
    } else if (expected.outcome != Outcome::kLocalError) {
      EXPECT_EQ(a.source.ip.ToString(), lab_->Client(family()).ToString());
      EXPECT_NE(a.source.port, 0);
      EXPECT_NE(a.socket_cookie, 0u);
    }
  }

  static std::string Totals() {
    const KernelTotals totals = probe_->ReadTotals();
    return fmt::format("attempts lost {}, storage failed {}, runs skipped {}",
                       totals[CONNECT_RECORD_ATTEMPT].lost,
                       totals[CONNECT_RECORD_ATTEMPT].storage_failed, probe_->ReadSkippedRuns());
  }

  // Forgets what was recorded so far.
  static void Drain() { probe_->TakeConnects(100'000); }

  void WaitConnected(const Fd& fd) {
    pollfd event{fd.get(), POLLOUT, 0};
    ASSERT_EQ(poll(&event, 1, 10'000), 1);
  }
  static int PendingError(const Fd& fd) {
    int error = 0;
    socklen_t size = sizeof(error);
    PHANTOMD_CHECK(getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0);
    return error;
  }

  static inline NetworkLab* lab_ = nullptr;
  static inline KernelProbe* probe_ = nullptr;
  static inline Fd* listener_v4_ = nullptr;
  static inline Fd* listener_v6_ = nullptr;
  bool expect_own_identity_ = true;
};

}  // namespace phantomd
