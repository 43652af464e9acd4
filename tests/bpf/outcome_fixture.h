// What the tests of the outcome table share: two namespaces, a probe that watches one of them, and
// the rule that an action leaves exactly one record with exactly the expected values.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/check.h"
#include "agent/base/clock.h"
#include "agent/probe/kernel_probe.h"
#include "agent/probe/outcome.h"
#include "tests/bpf/network_lab.h"
#include "tests/bpf/outcome_table.h"

namespace phantomd {

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

  void Check(std::string_view what, const IpAddr& destination, uint16_t port,
             const Expected& expected, const std::function<void()>& action) {
    CheckAll(what, destination, port, {expected}, action);
  }

  // Does `action` in the client's namespace, which must leave these records, in this order. A
  // connect that is known to be recorded marks the end of what the action has left.
  void CheckAll(std::string_view what, const IpAddr& destination, uint16_t port,
                const std::vector<Expected>& expected, const std::function<void()>& action) {
    const BootTime before = SystemClock().Now();
    process_ = static_cast<uint32_t>(getpid());
    thread_ = 0;
    lab_->client.Run([&] {
      thread_ = gettid();
      action();
    });
    const BootTime after = SystemClock().Now();
    const std::vector<Attempt> seen = TakeUpToMarker();
    std::vector<Expected> got;
    for (const Attempt& a : seen) {
      const bool any = got.size() < expected.size() && expected[got.size()].syn_retransmits < 0;
      got.push_back({a.outcome, a.error_number, a.icmp_type, a.icmp_code,
                     any ? int64_t{-1} : int64_t{a.syn_retransmits}});
    }
    ResultTable::Instance().Add(what, family(), Show(expected), Show(got));
    ASSERT_EQ(Show(got), Show(expected)) << what << "; " << Totals();
    for (const Attempt& attempt : seen) {
      CheckCircumstances(attempt, {destination, port});
      EXPECT_GE(attempt.started, before);
      EXPECT_LE(attempt.ended, after);
    }
  }

  // For actions whose connect is made by another task than the one that runs them.
  void ExpectConnector(uint32_t process, uint32_t thread) {
    process_ = process;
    thread_ = thread;
  }

  static std::string Totals() {
    const KernelTotals totals = probe_->ReadTotals();
    return fmt::format("attempts lost {}, storage failed {}, unseen {}, runs skipped {}",
                       totals[CONNECT_RECORD_ATTEMPT].lost,
                       totals[CONNECT_RECORD_ATTEMPT].storage_failed,
                       totals[CONNECT_RECORD_ATTEMPT].unseen, probe_->ReadSkippedRuns());
  }

  void CheckCircumstances(const Attempt& a, const SocketAddr& destination) const {
    EXPECT_EQ(a.destination.ToString(), destination.ToString());
    EXPECT_EQ(a.netns_cookie, lab_->client.cookie());
    EXPECT_NE(a.cgroup_id, 0u);
    EXPECT_LT(a.process_start, a.started);
    EXPECT_GE(a.ended, a.started);
    EXPECT_EQ(a.process_id, process_);
    EXPECT_TRUE(a.thread_id == thread_ || thread_ == kAnyThread) << a.thread_id;
    if (a.outcome == Outcome::kNoRoute) {
      EXPECT_TRUE(a.source.ip.is_unset());
    } else if (a.outcome != Outcome::kLocalError) {
      EXPECT_EQ(a.source.ip.ToString(), lab_->Client(family()).ToString());
      EXPECT_NE(a.source.port, 0);
      EXPECT_NE(a.socket_cookie, 0u);
    }
  }

  static std::vector<Attempt> TakeUpToMarker() {
    Fd marker;
    uint32_t thread = 0;
    lab_->client.Run([&] {
      thread = gettid();
      marker = TcpSocket(Family::kV4, true);
      ASSERT_EQ(Connect(marker, Family::kV4, lab_->Server(Family::kV4), OpenPort(Family::kV4)), 0);
    });
    std::vector<Attempt> seen;
    const bool found = WaitFor([&] {
      for (const ConnectRecord& record : probe_->TakeConnects(1000)) {
        const auto* connect = std::get_if<connect_record>(&record);
        if (connect == nullptr) continue;
        const Attempt attempt = ToAttempt(*connect);
        if (attempt.source.port == LocalPort(marker) && attempt.thread_id == thread) return true;
        seen.push_back(attempt);
      }
      return false;
    });
    EXPECT_TRUE(found) << "the marker's record never came; " << Totals();
    return seen;
  }

  // Forgets what was recorded so far.
  static void Drain() { probe_->TakeConnects(100'000); }

  void WaitConnected(const Fd& fd) {
    pollfd event{fd.get(), POLLOUT, 0};
    ASSERT_EQ(poll(&event, 1, 120'000), 1);
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
  static constexpr uint32_t kAnyThread = UINT32_MAX;
  uint32_t process_ = 0;  // that connects
  uint32_t thread_ = 0;
};

}  // namespace phantomd
