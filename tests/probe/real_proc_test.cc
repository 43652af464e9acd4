// Discovery on the real /proc.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <set>
#include <thread>

#include "agent/probe/network_namespace.h"
#include "agent/probe/proc_reader.h"
#include "agent/probe/proxy_discovery.h"

namespace phantomd {
namespace {

// Who may not look at a process of root's still reads its stat.
TEST(RealProcDiscoveryTest, UnreadableProxyLivesOnAsTheKernelToldOfIt) {
  const pid_t test = getpid();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (setuid(65534) != 0) _exit(2);
    SystemNamespaceReader namespaces;
    ProxyDiscovery discovery({}, namespaces);
    process_record record{};
    record.process_id = static_cast<uint32_t>(test);
    record.process_start_ns = ProcReader().Start(record.process_id)->nanos();
    std::strcpy(record.comm, "envoy");
    if (ProcReader().Executable(record.process_id).ok()) _exit(3);
    discovery.OnExec(record);
    if (discovery.TakeChanges().size() != 1) _exit(4);
    discovery.Scan(BootTime::FromNanos(record.process_start_ns) + std::chrono::seconds(10));
    _exit(discovery.TakeChanges().empty() && !discovery.limitations().empty() ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// What the main thread waits for, and not what another thread does.
TEST(RealProcReaderTest, DescriptorsThatTheMainThreadPollsAreKnownWhileItWaits) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto wait_for = [](int fd) {
      const int epoll = epoll_create1(0);
      epoll_event event{.events = EPOLLIN};
      if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) != 0) _exit(2);
      for (;;) epoll_wait(epoll, &event, 1, -1);
    };
    std::thread(wait_for, eventfd(0, 0)).detach();
    wait_for(ends[0]);
  }
  const auto polled = [&] { return ProcReader().PolledByMainThread(child); };
  absl::StatusOr<std::set<uint32_t>> fds = polled();
  for (const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
       !fds.ok() && std::chrono::steady_clock::now() < deadline;) {
    fds = polled();
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(fds.ok()) << fds.status();
  EXPECT_EQ(*fds, std::set<uint32_t>{static_cast<uint32_t>(ends[0])});
  close(ends[0]);
  close(ends[1]);
  // This test's own main thread is busy.
  EXPECT_TRUE(absl::IsFailedPrecondition(ProcReader().PolledByMainThread(getpid()).status()));
}

}  // namespace
}  // namespace phantomd
