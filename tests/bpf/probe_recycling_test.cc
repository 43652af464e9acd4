// Namespaces and process IDs that are used again: nothing is taken for what was there before, and
// nothing of what is gone stays behind.
#include <dirent.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <set>

#include "agent/base/check.h"
#include "tests/bpf/probe_fixture.h"

namespace phantomd {
namespace {

using ::testing::Contains;
using ::testing::Not;

ino_t InodeOf(const NetworkNamespace& netns) {
  struct stat status {};
  PHANTOMD_CHECK(fstat(netns.fd(), &status) == 0);
  return status.st_ino;
}

size_t OpenDescriptors() {
  size_t out = 0;
  DIR* directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) ++out;
  closedir(directory);
  return out;
}

// Where there is no route a connect fails at once and is recorded all the same.
std::string Nowhere(int i) { return fmt::format("v4 10.99.{}.{} 9", i / 200, 1 + i % 200); }

TEST(RecyclingTest, ReusedNamespacesAndProcessIdsAreNotMixedUp) {
  constexpr int kRounds = 60;
  absl::StatusOr<std::unique_ptr<Probe>> probe = Probe::Start({}, SystemClock().Now());
  ASSERT_TRUE(probe.ok()) << probe.status();
  std::map<std::string, Attempt> attempts;           // by destination
  std::map<uint64_t, std::set<ProxyId>> proxies_of;  // by namespace
  const auto consume = [&](BootTime now) {
    (*probe)->Consume(now, [&](const ProbeOutput& output) {
      if (const auto* attempt = std::get_if<Attempt>(&output)) {
        attempts.emplace(attempt->destination.ip.ToString(), *attempt);
      } else if (const auto* proxy = std::get_if<DiscoveredProxy>(&output)) {
        proxies_of[proxy->proxy.netns_cookie].insert(proxy->proxy.id);
      }
    });
  };
  consume(SystemClock().Now());
  const size_t descriptors = OpenDescriptors();
  const std::string envoy = FakeProxy::Installed("envoy");
  std::vector<uint64_t> cookies;
  std::set<ino_t> inodes;
  pid_t pid = 0;
  for (int i = 0; i < kRounds; ++i) {
    const NetworkNamespace netns;
    cookies.push_back(netns.cookie());
    inodes.insert(InodeOf(netns));
    // Every other process gets the ID of the one before.
    FakeProxy proxy(envoy, netns, {"-c", "x"}, {.first = Nowhere(i), .pid = i % 2 == 0 ? 0 : pid});
    pid = static_cast<pid_t>(proxy.pid());
    proxy.Do("forget");  // answered after its first connect
    if (i % 5 == 0) consume(SystemClock().Now());
  }
  consume(SystemClock().Now());
  EXPECT_LT(inodes.size(), static_cast<size_t>(kRounds)) << "no number was used again";
  std::set<ProxyId> seen;
  for (int i = 0; i < kRounds; ++i) {
    const std::string destination = fmt::format("10.99.{}.{}", i / 200, 1 + i % 200);
    ASSERT_TRUE(attempts.contains(destination)) << i;
    const Attempt& attempt = attempts.at(destination);
    EXPECT_EQ(attempt.netns_cookie, cookies[i]);
    EXPECT_EQ(attempt.initiator, Initiator::kProxy);
    EXPECT_THAT(proxies_of[cookies[i]], Contains(attempt.proxy_id));
    EXPECT_TRUE(seen.insert(attempt.proxy_id).second) << "an earlier proxy's";
  }
  EXPECT_EQ(OpenDescriptors(), descriptors);
}

TEST(RecyclingTest, NothingOfAGoneProxyStaysInTheKernel) {
  absl::StatusOr<std::unique_ptr<KernelProbe>> kernel = KernelProbe::Load({});
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  SystemNamespaceReader namespaces;
  ProxyDiscovery discovery({}, namespaces);
  ProxyWatch watch(**kernel, **kernel, discovery, /*host_netns_cookie=*/0);
  BootTime now = SystemClock().Now();
  const auto round = [&] {
    watch.TakeProcesses(now);
    discovery.Scan(now);
    watch.AfterScan(now);
    discovery.TakeChanges();
  };
  const auto followed = [&] {
    std::set<uint32_t> out;
    for (const FollowedProcess& process : (*kernel)->processes().All()) {
      out.insert(process.process_id);
    }
    return out;
  };
  round();
  std::set<uint64_t> cookies;
  std::set<uint32_t> pids;
  for (const char* name : {"envoy", "envoy-gateway", "pilot-agent", "ztunnel"}) {
    for (const bool seen_alive : {true, false}) {
      const NetworkNamespace netns;
      const NetworkNamespace other;
      FakeProxy process(FakeProxy::Installed(name), netns, {}, {.uid = 0});
      process.ListenIn(other, Family::kV4, 15001);
      cookies.insert(netns.cookie());
      cookies.insert(other.cookie());
      pids.insert(process.pid());
      if (seen_alive) round();
    }
  }
  round();
  const std::vector<uint64_t> all = (*kernel)->Watched();
  EXPECT_GE(all.size(), cookies.size() - 1) << "watched by the kernel itself";
  for (int i = 0; i < 25; ++i) {
    now = now + std::chrono::seconds(11);
    round();
  }
  for (const uint64_t cookie : (*kernel)->Watched()) EXPECT_FALSE(cookies.contains(cookie));
  for (const uint32_t pid : followed()) EXPECT_FALSE(pids.contains(pid));
}

}  // namespace
}  // namespace phantomd
