// Discovery on a /proc that the test writes.
#include "agent/probe/proxy_discovery.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/probe/proxy_discovery_fixture.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(ProxyDiscoveryTest, ScanDescribesAProxyInAPod) {
  Run({.pid = 7, .start_seconds = 100});
  Run({.pid = 8, .start_seconds = 101, .executable = "/bin/bash"});
  fs::create_directories(root_ + "/not-a-pid");
  discovery_->Scan(Seconds(200));
  const std::vector<DiscoveredProxy> changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 1u);
  const DiscoveredProxy& found = changes[0];
  EXPECT_FALSE(found.gone);
  EXPECT_EQ(found.proxy.id.value(), fmt::format("{}/{}", kPodA, kContainer1));
  EXPECT_EQ(found.proxy.pod.uid, PodUid(kPodA));
  EXPECT_EQ(found.proxy.role, ProxyRole::kUnspecified);
  EXPECT_EQ(found.proxy.netns_cookie, 100u);
  EXPECT_NE(found.proxy.cgroup_id, 0u);
  EXPECT_THAT(found.proxy.process_ids, ElementsAre(7u));
  EXPECT_EQ(found.proxy.process_start, Seconds(100));
  EXPECT_EQ(found.process_id, 7u);
  EXPECT_EQ(found.bootstrap_path, PathOf(7) + "/cwd/etc/istio/proxy/envoy-rev.json");
  EXPECT_EQ(discovery_->processes().Find(7, Seconds(100))->uid, 1337u);
  EXPECT_THAT(discovery_->limitations(), IsEmpty());

  discovery_->Scan(Seconds(210));
  EXPECT_THAT(discovery_->TakeChanges(), IsEmpty());
}

TEST_F(ProxyDiscoveryTest, ALateExitOfAnEarlierProcessEndsNobodyElse) {
  const FakeProcess earlier{.pid = 7, .start_seconds = 100};
  const FakeProcess later{.pid = 7, .start_seconds = 150};
  Run(later);
  discovery_->OnExec(Record(later));
  discovery_->OnExit(Record(earlier));
  const std::vector<DiscoveredProxy> changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_FALSE(changes[0].gone);
}

TEST_F(ProxyDiscoveryTest, ScanAfterExecIsNoNews) {
  const FakeProcess process{.pid = 7, .start_seconds = 100};
  Run(process);
  discovery_->OnExec(Record(process));
  EXPECT_EQ(discovery_->TakeChanges().size(), 1u);
  discovery_->Scan(Seconds(200));
  EXPECT_THAT(discovery_->TakeChanges(), IsEmpty());
}

TEST_F(ProxyDiscoveryTest, ProxyThatEndedBeforeItCouldBeReadIsKnownFromTheKernel) {
  discovery_->OnExec(Record({.pid = 7, .start_seconds = 100}));
  const std::vector<DiscoveredProxy> changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].proxy.id, ProxyId("100000000000/7"));
  EXPECT_EQ(changes[0].proxy.netns_cookie, 100u);
  EXPECT_EQ(changes[0].proxy.cgroup_id, 5u);
  discovery_->Scan(Seconds(200));
  EXPECT_TRUE(discovery_->TakeChanges().at(0).gone);
}

// What could not be read of a process at its exec, one entry at a time.
TEST_F(ProxyDiscoveryTest, ProxyBadlySeenAtItsExecIsLookedAtAgainUntilItIsWellKnown) {
  const FakeProcess process{.pid = 7, .start_seconds = 100};
  const ProxyId of_container(fmt::format("{}/{}", kPodA, kContainer1));
  struct Row {
    const char* entry;
    ProxyId id;
    const char* told;  // by the first scan; null: nothing
  };
  const Row rows[] = {
      {"cmdline", of_container, nullptr},
      {"cgroup", ProxyId("100000000000/7"), nullptr},
      {"status", ProxyId("100000000000/7"), "/7/status: not in the known form"},
      {"stat", ProxyId("100000000000/7"), nullptr},
      {"ns/net", ProxyId("100000000000/7"), "/7/ns/net: Permission denied"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.entry);
    discovery_ = std::make_unique<ProxyDiscovery>(
        DiscoveryOptions{.proc_root = root_, .cgroup2_root = root_ + "/cgroup"}, namespaces_);
    Run(process);
    if (row.entry == std::string("cgroup")) {
      fs::remove(PathOf(7) + "/cgroup");
    } else if (row.entry == std::string("ns/net")) {
      namespaces_.cookies.clear();
    } else if (row.entry == std::string("stat")) {
      fs::remove(PathOf(7) + "/stat");
    } else {
      Write(PathOf(7) + "/" + row.entry, "");
    }
    discovery_->OnExec(Record(process));
    std::vector<DiscoveredProxy> changes = discovery_->TakeChanges();
    ASSERT_EQ(changes.size(), 1u);
    EXPECT_EQ(changes[0].proxy.id, row.id);
    EXPECT_EQ(changes[0].bootstrap_path, "");

    // A scan that fares no better changes nothing.
    if (row.entry != std::string("stat")) {
      discovery_->Scan(Seconds(110));
      EXPECT_THAT(discovery_->TakeChanges(), IsEmpty());
      if (row.told == nullptr) {
        EXPECT_THAT(discovery_->limitations(), IsEmpty());
      } else {
        EXPECT_THAT(discovery_->limitations(), ElementsAre(HasSubstr(row.told)));
      }
    }

    Run(process);
    discovery_->Scan(Seconds(120));
    changes = discovery_->TakeChanges();
    ASSERT_EQ(changes.size(), 1u);
    EXPECT_FALSE(changes[0].gone);
    EXPECT_EQ(changes[0].proxy.id, row.id) << "it is the same proxy";
    EXPECT_EQ(changes[0].proxy.pod.uid, PodUid(kPodA));
    EXPECT_EQ(changes[0].proxy.process_start, BootTime::FromNanos(100'004'000'000));
    EXPECT_EQ(changes[0].proxy.cgroup_id, 5u) << "what the kernel saw stays";
    EXPECT_EQ(changes[0].bootstrap_path, PathOf(7) + "/cwd/etc/istio/proxy/envoy-rev.json");
    EXPECT_EQ(discovery_->processes().Find(7, Seconds(100))->proxy_id, row.id);
    EXPECT_THAT(discovery_->limitations(), IsEmpty());

    discovery_->Scan(Seconds(130));
    EXPECT_THAT(discovery_->TakeChanges(), IsEmpty()) << "well known: nothing more to learn";
    discovery_->OnExit(Record(process));
    changes = discovery_->TakeChanges();
    ASSERT_EQ(changes.size(), 1u);
    EXPECT_TRUE(changes[0].gone);
    EXPECT_EQ(changes[0].proxy.id, row.id);
  }
}

TEST_F(ProxyDiscoveryTest, ALaterProcessInProcIsNotTakenForTheOneThatBegan) {
  const FakeProcess earlier{.pid = 7, .start_seconds = 100};
  Run({.pid = 7, .start_seconds = 150});
  discovery_->OnExec(Record(earlier));
  const std::vector<DiscoveredProxy> changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].proxy.id, ProxyId("100000000000/7"));
  EXPECT_TRUE(changes[0].proxy.pod.uid.empty());
}

TEST_F(ProxyDiscoveryTest, WrapperScriptIsNotTheProxyThatItStarts) {
  FakeProcess process{.pid = 7, .start_seconds = 100, .executable = "/bin/bash"};
  Run(process);
  discovery_->OnExec(Record(process));
  EXPECT_THAT(discovery_->TakeChanges(), IsEmpty());
  process.executable = "/usr/local/bin/envoy";
  Run(process);
  discovery_->OnExec(Record(process));
  EXPECT_EQ(discovery_->TakeChanges().size(), 1u);
}

TEST_F(ProxyDiscoveryTest, DeletedExecutableIsStillAProxy) {
  Run({.pid = 7, .start_seconds = 100, .executable = "/usr/local/bin/envoy (deleted)"});
  discovery_->Scan(Seconds(200));
  EXPECT_EQ(discovery_->TakeChanges().size(), 1u);
}

TEST_F(ProxyDiscoveryTest, ReusedProcessIdIsAnotherProxy) {
  const auto standalone = [](int64_t start) {
    return FakeProcess{.pid = 7,
                       .start_seconds = start,
                       .command_line = {"envoy", "--config-yaml", "admin: {}"},
                       .cgroup = "/user.slice"};
  };
  Run(standalone(100));
  discovery_->Scan(Seconds(200));
  Run(standalone(300));
  discovery_->Scan(Seconds(400));
  const std::vector<DiscoveredProxy> changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_TRUE(changes[1].gone);
  EXPECT_NE(changes[2].proxy.id, changes[0].proxy.id);
  EXPECT_EQ(changes[2].bootstrap_inline, "admin: {}");
}

TEST_F(ProxyDiscoveryTest, AgentIsAProcessButNoProxy) {
  Run({.pid = 7, .start_seconds = 100, .executable = "/usr/local/bin/pilot-agent"});
  discovery_->Scan(Seconds(200));
  EXPECT_THAT(discovery_->TakeChanges(), IsEmpty());
  ASSERT_NE(discovery_->processes().Find(7, Seconds(100)), nullptr);
  EXPECT_EQ(discovery_->processes().Find(7, Seconds(100))->kind, ProxyProcess::Kind::kAgent);
}

TEST_F(ProxyDiscoveryTest, UnreadableProxyIsListed) {
  Run({.pid = 7, .start_seconds = 100});
  namespaces_.cookies.clear();
  discovery_->Scan(Seconds(200));
  EXPECT_THAT(discovery_->TakeChanges(), IsEmpty());
  ASSERT_EQ(discovery_->limitations().size(), 1u);
  EXPECT_THAT(discovery_->limitations()[0], HasSubstr("process 7 (envoy) is a proxy but cannot"));
  // Once it can be read it is one, and the sentence is gone.
  Run({.pid = 7, .start_seconds = 100});
  discovery_->Scan(Seconds(210));
  EXPECT_EQ(discovery_->TakeChanges().size(), 1u);
  EXPECT_THAT(discovery_->limitations(), IsEmpty());
}

TEST_F(ProxyDiscoveryTest, ProcThatCannotBeListedEndsNobody) {
  Run({.pid = 7, .start_seconds = 100});
  discovery_->Scan(Seconds(200));
  EXPECT_EQ(discovery_->TakeChanges().size(), 1u);
  fs::rename(root_, root_ + ".away");
  discovery_->Scan(Seconds(210));
  fs::rename(root_ + ".away", root_);
  EXPECT_THAT(discovery_->TakeChanges(), IsEmpty());
  EXPECT_THAT(discovery_->limitations(),
              ElementsAre(HasSubstr("processes could not be looked for")));

  discovery_->Scan(Seconds(220));
  EXPECT_THAT(discovery_->TakeChanges(), IsEmpty());
  EXPECT_THAT(discovery_->limitations(), IsEmpty());
}

// The directory can be listed with the last descriptor, the processes' files cannot be read then:
// a link's target takes none.
TEST_F(ProxyDiscoveryTest, WantOfDescriptorsEndsNobody) {
  Run({.pid = 7, .start_seconds = 100});
  Run({.pid = 8,
       .start_seconds = 100,
       .cgroup = fmt::format("/kubepods/burstable/pod{}/{}", kPodA, kContainer2)});
  discovery_->Scan(Seconds(200));
  EXPECT_EQ(discovery_->TakeChanges().size(), 2u);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  for (const int more : {0, 1}) {
    const int next = dup(0);
    ASSERT_GE(next, 0);
    close(next);
    const rlimit scarce{static_cast<rlim_t>(next + more), limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &scarce), 0);
    discovery_->Scan(Seconds(210 + more));
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_THAT(discovery_->TakeChanges(), IsEmpty()) << more;
  }

  fs::remove_all(PathOf(8));
  discovery_->Scan(Seconds(220));
  const std::vector<DiscoveredProxy> changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_TRUE(changes[0].gone);
  EXPECT_EQ(changes[0].process_id, 8u);
}

TEST_F(ProxyDiscoveryTest, BrokenEntryIsListedAndHurtsNoOther) {
  Run({.pid = 7, .start_seconds = 100});
  Write(PathOf(7) + "/stat", "7 (envoy");
  Run({.pid = 8, .start_seconds = 100});
  Write(PathOf(8) + "/status", "");
  Run({.pid = 9, .start_seconds = 100});
  fs::remove(PathOf(9) + "/cgroup");  // it has ended meanwhile
  Run({.pid = 10, .start_seconds = 100});
  discovery_->Scan(Seconds(200));
  const std::vector<DiscoveredProxy> changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].process_id, 10u);
  EXPECT_THAT(discovery_->limitations(),
              UnorderedElementsAre(HasSubstr("/7/stat: not in the known form"),
                                   HasSubstr("/8/status: not in the known form")));
}

}  // namespace
}  // namespace phantomd
