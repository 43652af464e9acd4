// Which processes are one proxy, and which are none at all in spite of their names, or in spite of
// having another one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <map>
#include <set>

#include "tests/probe/proxy_discovery_fixture.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(ProxyDiscoveryTest, ProcessesOfOneContainerWithoutAHotRestartAreDifferentProxies) {
  const std::vector<std::string> alone = {"envoy", "-c", "/x", "--disable-hot-restart"};
  Run({.pid = 7, .start_seconds = 100, .command_line = alone});
  Run({.pid = 8, .start_seconds = 101, .command_line = alone});
  Run({.pid = 9, .start_seconds = 102, .command_line = {"envoy", "-c", "/x", "--base-id", "1"}});
  discovery_->Scan(Seconds(200));
  std::vector<DiscoveredProxy> changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 3u);
  const std::string container = fmt::format("{}/{}", kPodA, kContainer1);
  std::set<std::string> ids;
  for (const DiscoveredProxy& change : changes) {
    ids.insert(change.proxy.id.value());
    EXPECT_EQ(change.proxy.pod.uid, PodUid(kPodA));
    EXPECT_EQ(change.proxy.process_ids.size(), 1u);
  }
  EXPECT_THAT(
      ids, UnorderedElementsAre(container, HasSubstr(container + "/"), HasSubstr(container + "/")));
  // Started anew after it had ended, it is the container's proxy again.
  End(7);
  End(8);
  End(9);
  discovery_->Scan(Seconds(210));
  discovery_->TakeChanges();
  Run({.pid = 10, .start_seconds = 220, .command_line = alone});
  discovery_->Scan(Seconds(230));
  changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].proxy.id.value(), container);
}

TEST_F(ProxyDiscoveryTest, BaseIdThatIsChosenAtTheStartIsReadOnceItIsWritten) {
  const FakeProcess first{
      .pid = 7,
      .start_seconds = 100,
      .command_line = {"envoy", "-c", "/x", "--use-dynamic-base-id", "--base-id-path", "id"}};
  const FakeProcess other{.pid = 8,
                          .start_seconds = 101,
                          .command_line = {"envoy", "-c", "/x", "--use-dynamic-base-id"}};
  const FakeProcess second{
      .pid = 9,
      .start_seconds = 150,
      .command_line = {"envoy", "-c", "/x", "--base-id", "41", "--restart-epoch", "1"}};
  Run(first);
  discovery_->OnExec(Record(first));
  Run(other);
  discovery_->OnExec(Record(other));
  std::vector<DiscoveredProxy> changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 2u);
  const ProxyId proxy = changes[0].proxy.id;
  EXPECT_NE(changes[1].proxy.id, proxy) << "each has chosen one of its own";
  fs::create_directories(PathOf(7) + "/cwd");
  Write(PathOf(7) + "/cwd/id", "41\n");
  discovery_->Scan(Seconds(110));
  EXPECT_THAT(discovery_->TakeChanges(),
              ElementsAre(::testing::Field(&DiscoveredProxy::process_id, 7u)));
  Run(second);
  discovery_->OnExec(Record(second));
  changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].proxy.id, proxy);
  EXPECT_THAT(changes[0].proxy.process_ids, ElementsAre(7u, 9u));
}

TEST_F(ProxyDiscoveryTest, ProcessThatOnlyChecksItsConfigurationIsNone) {
  const FakeProcess parent{.pid = 7, .start_seconds = 100};
  const FakeProcess check{.pid = 9,
                          .start_seconds = 150,
                          .command_line = {"envoy", "--mode", "validate", "-c", "/new"}};
  Run(parent);
  EXPECT_TRUE(discovery_->OnExec(Record(parent)));
  Run(check);
  EXPECT_FALSE(discovery_->OnExec(Record(check)));
  discovery_->Scan(Seconds(160));
  const std::vector<DiscoveredProxy> changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].process_id, 7u);
}

TEST_F(ProxyDiscoveryTest, OutsidePodsTheBaseIdTellsProxiesApart) {
  const auto standalone = [](uint32_t pid, const char* base_id) {
    return FakeProcess{.pid = pid,
                       .start_seconds = pid,
                       .command_line = {"envoy", "-c", "/x", "--base-id", base_id},
                       .cgroup = "/user.slice"};
  };
  Run(standalone(7, "1"));
  Run(standalone(8, "1"));
  Run(standalone(9, "2"));
  FakeProcess alone = standalone(10, "1");
  alone.command_line.push_back("--disable-hot-restart");
  Run(alone);
  discovery_->Scan(Seconds(200));
  std::map<ProxyId, std::vector<uint32_t>> last;
  for (const DiscoveredProxy& change : discovery_->TakeChanges()) {
    last[change.proxy.id] = change.proxy.process_ids;
    EXPECT_EQ(change.proxy.role, ProxyRole::kStandalone);
  }
  std::vector<std::vector<uint32_t>> groups;
  for (const auto& [id, pids] : last) groups.push_back(pids);
  EXPECT_THAT(groups, UnorderedElementsAre(UnorderedElementsAre(7u, 8u), ElementsAre(9u),
                                           ElementsAre(10u)));
}

TEST_F(ProxyDiscoveryTest, ContainersOfOnePodAreDifferentProxies) {
  Run({.pid = 7, .start_seconds = 100});
  Run({.pid = 9,
       .start_seconds = 100,
       .cgroup = fmt::format("/kubepods/burstable/pod{}/{}", kPodA, kContainer2)});
  discovery_->Scan(Seconds(200));
  const std::vector<DiscoveredProxy> changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_NE(changes[0].proxy.id, changes[1].proxy.id);
}

TEST_F(ProxyDiscoveryTest, HotRestartIsOneProxyUntilItsLastProcessEnds) {
  const FakeProcess first{.pid = 7, .start_seconds = 100};
  const FakeProcess second{.pid = 9, .start_seconds = 150};
  Run(first);
  discovery_->OnExec(Record(first));
  Run(second);
  discovery_->OnExec(Record(second));
  discovery_->OnExit(Record(first));
  discovery_->OnExit(Record(second));
  const std::vector<DiscoveredProxy> changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 4u);
  EXPECT_THAT(changes[0].proxy.process_ids, ElementsAre(7u));
  EXPECT_THAT(changes[1].proxy.process_ids, ElementsAre(7u, 9u));
  EXPECT_EQ(changes[1].process_id, 9u);
  EXPECT_THAT(changes[2].proxy.process_ids, ElementsAre(9u));
  EXPECT_TRUE(changes[3].gone);
  for (const DiscoveredProxy& change : changes) EXPECT_EQ(change.proxy.id, changes[0].proxy.id);
  // Its last records may still come.
  EXPECT_NE(discovery_->processes().Find(7, Seconds(100)), nullptr);
}

class BadlySeenEpochTest : public ProxyDiscoveryTest {
 protected:
  // The second epoch is looked at when it cannot be read.
  void RunBoth() {
    Run(first_);
    discovery_->OnExec(Record(first_));
    Run(second_);
    Write(PathOf(9) + "/status", "");
    discovery_->OnExec(Record(second_));
  }

  const FakeProcess first_{.pid = 7, .start_seconds = 100};
  const FakeProcess second_{.pid = 9, .start_seconds = 150};
};

TEST_F(BadlySeenEpochTest, BadlySeenSecondEpochJoinsItsProxyOnceItIsWellKnown) {
  RunBoth();
  std::vector<DiscoveredProxy> changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 2u);
  const ProxyId proxy = changes[0].proxy.id;
  const ProxyId stranger = changes[1].proxy.id;
  EXPECT_NE(stranger, proxy);
  Run(second_);
  discovery_->Scan(Seconds(160));
  changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_TRUE(changes[0].gone);
  EXPECT_EQ(changes[0].proxy.id, stranger);
  EXPECT_EQ(changes[1].proxy.id, proxy);
  EXPECT_THAT(changes[1].proxy.process_ids, ElementsAre(7u, 9u));
}

// It leaves the group in which it was, and lives on in another one.
TEST_F(BadlySeenEpochTest, SecondEpochThatJoinsLateIsNotForgottenAsEnded) {
  RunBoth();
  Run(second_);
  discovery_->Scan(Seconds(160));
  const auto living = [&] {
    std::vector<uint32_t> out;
    for (const ProxyProcess* process : discovery_->processes().Living()) {
      out.push_back(process->process_id);
    }
    return out;
  };
  EXPECT_THAT(living(), UnorderedElementsAre(7u, 9u));
  discovery_->TakeChanges();
  discovery_->Scan(Seconds(160) + 2 * ProxyDiscovery::kRemember);
  EXPECT_THAT(discovery_->TakeChanges(), IsEmpty());
  EXPECT_THAT(living(), UnorderedElementsAre(7u, 9u));
  const ProxyProcess* known = discovery_->processes().Find(9, BootTime::FromNanos(150'004'000'000));
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->proxy_id, discovery_->processes().Find(7, Seconds(100))->proxy_id);
  // Its end is one all the same.
  End(9);
  discovery_->OnExit(Record(second_));
  EXPECT_THAT(living(), ElementsAre(7u));
  discovery_->Scan(Seconds(300) + 2 * ProxyDiscovery::kRemember);
  EXPECT_EQ(discovery_->processes().Find(9, Seconds(150)), nullptr);
}

// One process that is a proxy, then something else, then a proxy again.
TEST_F(ProxyDiscoveryTest, LauncherThatExecutesAProxyAgainLives) {
  FakeProcess process{.pid = 7, .start_seconds = 100};
  const auto exec = [&](const char* executable) {
    process.executable = executable;
    Run(process);
    return discovery_->OnExec(Record(process));
  };
  EXPECT_TRUE(exec("/usr/local/bin/envoy"));
  EXPECT_FALSE(exec("/bin/bash"));
  EXPECT_THAT(discovery_->processes().Living(), IsEmpty());
  EXPECT_TRUE(exec("/usr/local/bin/envoy"));
  ASSERT_EQ(discovery_->processes().Living().size(), 1u);
  std::vector<DiscoveredProxy> changes = discovery_->TakeChanges();
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_FALSE(changes[0].gone);
  EXPECT_TRUE(changes[1].gone);
  EXPECT_FALSE(changes[2].gone);
  // It is not remembered as one that has ended.
  discovery_->Scan(Seconds(200) + 2 * ProxyDiscovery::kRemember);
  EXPECT_THAT(discovery_->TakeChanges(), IsEmpty());
  ASSERT_NE(discovery_->processes().Find(7, Seconds(100)), nullptr);
  EXPECT_EQ(discovery_->processes().Find(7, Seconds(100))->proxy_id, changes[2].proxy.id);
  // pilot-agent that becomes the Envoy which it would have started.
  EXPECT_TRUE(exec("/usr/local/bin/pilot-agent"));
  EXPECT_TRUE(exec("/usr/local/bin/envoy"));
  const ProxyProcess* known = discovery_->processes().Find(7, Seconds(100));
  ASSERT_NE(known, nullptr);
  EXPECT_EQ(known->kind, ProxyProcess::Kind::kEnvoy);
  EXPECT_EQ(discovery_->processes().Living().size(), 1u);
}

// A pipe must not hold up the reader, and what is no number is none.
TEST_F(ProxyDiscoveryTest, NumberIsReadFromARegularFileAlone) {
  const std::string file = root_ + "/number";
  EXPECT_FALSE(ProcReader::NumberIn(file).ok());
  Write(file, "41\n");
  EXPECT_EQ(ProcReader::NumberIn(file).value(), 41u);
  for (const char* text :
       {"", "x", "41x", "-1", "99999999999", "1234567890123456789012345678901234"}) {
    Write(file, text);
    EXPECT_FALSE(ProcReader::NumberIn(file).ok()) << text;
  }
  fs::remove(file);
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(ProcReader::NumberIn(file).ok());
  EXPECT_FALSE(ProcReader::NumberIn(root_).ok());
}

class RenamedEnvoyTest : public ProxyDiscoveryTest {
 protected:
  // An executable that can be looked at, with threads of these names.
  void RunThreads(uint32_t pid, const std::string& program, const std::vector<std::string>& names) {
    FakeProcess process{.pid = pid, .start_seconds = 100, .executable = root_ + "/" + program};
    Run(process);
    Write(PathOf(pid) + "/comm", program.substr(0, 15) + "\n");
    for (size_t i = 0; i < names.size(); ++i) {
      const std::string thread = fmt::format("{}/task/{}", PathOf(pid), pid + i);
      fs::create_directories(thread);
      Write(thread + "/comm", names[i] + "\n");
    }
  }
  size_t Found(int64_t at) {
    discovery_->Scan(Seconds(at));
    return discovery_->TakeChanges().size();
  }
};

TEST_F(RenamedEnvoyTest, IsFoundWhenItsThreadsHaveBegun) {
  Write(root_ + "/sidecar-proxy", "image");
  RunThreads(70, "sidecar-proxy", {"sidecar-proxy", "GrpcGoogClient"});
  RunThreads(80, "java", {"java", "worker_0"});
  EXPECT_EQ(Found(110), 0u);
  RunThreads(70, "sidecar-proxy", {"sidecar-proxy", "GrpcGoogClient", "wrk:worker_0"});
  EXPECT_EQ(Found(120), 1u);
  EXPECT_THAT(discovery_->TakeNewCommands(), ElementsAre("sidecar-proxy"));
  EXPECT_EQ(Found(130), 0u);
  EXPECT_THAT(discovery_->TakeNewCommands(), IsEmpty());
  // The next one of this image is known at its exec, and one of another image is not.
  RunThreads(90, "sidecar-proxy", {"sidecar-proxy"});
  process_record record = Record({.pid = 90, .start_seconds = 100});
  std::strcpy(record.comm, "sidecar-proxy");
  EXPECT_TRUE(discovery_->OnExec(record));
  EXPECT_EQ(discovery_->TakeChanges().size(), 1u);
  Write(root_ + "/sidecar-proxy", "another image");
  record.process_id = 91;
  RunThreads(91, "sidecar-proxy", {"sidecar-proxy"});
  EXPECT_FALSE(discovery_->OnExec(record));
  // One that has ended already is known by the name that the kernel saw.
  record.process_id = 92;
  EXPECT_TRUE(discovery_->OnExec(record));
}

TEST_F(RenamedEnvoyTest, WhatIsNoEnvoyIsNotLookedAtForever) {
  Write(root_ + "/proxy", "image");
  RunThreads(70, "proxy", {"proxy", "other"});
  for (int i = 0; i < EnvoySpotter::kLooks; ++i) EXPECT_EQ(Found(110 + i), 0u);
  RunThreads(70, "proxy", {"proxy", "wrk:worker_0"});
  EXPECT_EQ(Found(200), 0u);
  Write(root_ + "/proxy2", "image");
  RunThreads(70, "proxy2", {"proxy2", "dog:main_thread"});  // it executes another program
  EXPECT_EQ(Found(210), 1u);
}

}  // namespace
}  // namespace phantomd
