// Which processes are proxies, with real ones: hot restarts, wrappers, other names, deleted
// executables, short lives, and process IDs and namespaces that are used again.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "agent/base/check.h"
#include "tests/base/temporary_folder.h"
#include "tests/bpf/probe_fixture.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

namespace fs = std::filesystem;

class ProbeProcessesTest : public ProbeTest {
 protected:
  IpAddr Server() const { return lab_.Server(Family::kV4); }
  // What a process that has not been told anything yet connects to.
  std::string First() const { return fmt::format("v4 {} 9", Server().ToString()); }

  // The instant of the next scan, and one minute and more after which nothing is remembered.
  void Pass(int seconds) {
    for (int passed = 0; passed < seconds; passed += 11) {
      now_ = now_ + std::chrono::seconds(11);
      Consume(now_);
    }
  }

  // An executable script in the test's folder.
  std::string Script(const std::string& name, const std::string& text) {
    const std::string path = folder_ / name;
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  std::string Copy(const std::string& from, const std::string& name) {
    const std::string path = folder_ / name;
    fs::copy_file(FakeProxy::Installed(from), path);
    return path;
  }
  const DiscoveredProxy& last() const { return proxies_.back(); }

  testing::TempFolder folder_;
};

TEST_F(ProbeProcessesTest, EpochsOfAHotRestartAreOneProxyAndEachConnectIsOfItsProcess) {
  StartProbe();
  FakeProxy parent(envoy_, lab_.client, {"-c", "/etc/0.yaml", "--base-id", "4"});
  parent.Do("listen v4 0");
  ASSERT_TRUE(WaitForProxies(1));
  FakeProxy child(envoy_, lab_.client,
                  {"-c", "/etc/1.yaml", "--base-id", "4", "--restart-epoch", "1"});
  child.Do("listen v4 0");
  ASSERT_TRUE(WaitForProxies(2));
  const ProxyId proxy = proxies_[0].proxy.id;
  EXPECT_EQ(last().proxy.id, proxy);
  EXPECT_THAT(last().proxy.process_ids, UnorderedElementsAre(parent.pid(), child.pid()));
  // The child's admin interface has taken the place of the parent's.
  EXPECT_EQ(last().process_id, child.pid());
  EXPECT_EQ(last().bootstrap_path, fmt::format("/proc/{}/root/etc/1.yaml", child.pid()));
  for (FakeProxy* process : {&parent, &child}) {
    const uint16_t worker = process->Connect("worker", Family::kV4, Server(), 8080);
    const uint16_t main = process->Connect("main", Family::kV4, Server(), 8080);
    EXPECT_EQ(InitiatorOf(worker), Initiator::kProxy);
    EXPECT_EQ(InitiatorOf(main), Initiator::kProxyControl);
    for (const uint16_t source : {worker, main}) {
      EXPECT_EQ(AttemptFrom(source)->process_id, process->pid());
      EXPECT_EQ(AttemptFrom(source)->proxy_id, proxy);
    }
  }
  parent.End();
  ASSERT_TRUE(WaitForProxies(3));
  EXPECT_FALSE(last().gone);
  EXPECT_THAT(last().proxy.process_ids, ElementsAre(child.pid()));
  // A child that fails leaves its parent as it was.
  {
    FakeProxy failing(envoy_, lab_.client,
                      {"-c", "/etc/2.yaml", "--base-id", "4", "--restart-epoch", "2"});
    ASSERT_TRUE(WaitForProxies(4));
    EXPECT_EQ(last().process_id, failing.pid());
  }
  ASSERT_TRUE(WaitForProxies(5));
  EXPECT_EQ(last().process_id, child.pid());
  EXPECT_EQ(last().bootstrap_path, fmt::format("/proc/{}/root/etc/1.yaml", child.pid()));
  child.End();
  ASSERT_TRUE(WaitForProxies(6));
  EXPECT_TRUE(last().gone);
  for (const DiscoveredProxy& change : proxies_) EXPECT_EQ(change.proxy.id, proxy);
}

TEST_F(ProbeProcessesTest, SeveralProxiesOfOneNamespaceAreToldApart) {
  StartProbe();
  FakeProxy first(envoy_, lab_.client, {"-c", "x", "--disable-hot-restart"});
  FakeProxy second(envoy_, lab_.client, {"-c", "x", "--disable-hot-restart"});
  FakeProxy third(envoy_, lab_.client, {"-c", "x", "--use-dynamic-base-id"});
  for (FakeProxy* proxy : {&first, &second, &third}) proxy->Do("listen v4 0");
  ASSERT_TRUE(WaitForProxies(3));
  std::set<ProxyId> ids;
  for (FakeProxy* proxy : {&first, &second, &third}) {
    const uint16_t source = proxy->Connect("worker", Family::kV4, Server(), 8080);
    EXPECT_EQ(InitiatorOf(source), Initiator::kProxy);
    ids.insert(AttemptFrom(source)->proxy_id);
    for (const DiscoveredProxy& found : proxies_) {
      if (found.process_id == proxy->pid()) {
        EXPECT_EQ(AttemptFrom(source)->proxy_id, found.proxy.id);
      }
    }
  }
  EXPECT_EQ(ids.size(), 3u);
}

TEST_F(ProbeProcessesTest, ProxyIsFoundThroughWhateverStartsIt) {
  StartProbe();
  const std::string exec_it = fmt::format("exec {} \"$@\"", envoy_);
  struct Row {
    std::string what;
    std::string program;
  };
  const Row rows[] = {
      {"a script with a name of its own", Script("start-it", exec_it)},
      {"a script that is named like the proxy", Script("envoy", exec_it)},
      {"a script that first does something else", Script("envoy-start", "/bin/true; " + exec_it)},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    proxies_.clear();
    attempts_.clear();
    FakeProxy proxy(row.program, lab_.client, {"-c", "x"}, {.first = First()});
    proxy.Do("listen v4 0");
    ASSERT_TRUE(WaitForProxies(1));
    EXPECT_EQ(last().process_id, proxy.pid());
    ASSERT_EQ(attempts_.size(), 1u) << "its first connect";
    EXPECT_EQ(attempts_[0].initiator, Initiator::kProxy);
    EXPECT_EQ(attempts_[0].proxy_id, last().proxy.id);
    proxy.End();
    ASSERT_TRUE(WaitForProxies(2));
    EXPECT_TRUE(last().gone);
  }
}

TEST_F(ProbeProcessesTest, ProxyThatAnAgentStartsIsAProcessOfItsOwn) {
  StartProbe();
  FakeProxy agent(FakeProxy::Installed("pilot-agent"), lab_.client, {"proxy", "sidecar"});
  const std::string child = agent.Do(fmt::format("spawn {} {}", envoy_, First()));
  ASSERT_TRUE(WaitForProxies(2));
  ASSERT_EQ(attempts_.size(), 1u);
  EXPECT_EQ(std::to_string(attempts_[0].process_id) + "\n", child);
  EXPECT_EQ(attempts_[0].initiator, Initiator::kProxy);
}

// The kernel goes by the name and watches at once; that is undone when the name has deceived.
TEST_F(ProbeProcessesTest, ScriptNamedLikeAProxyThatRunsSomethingElseIsForgotten) {
  StartProbe();
  FakeProxy script(
      Script("envoy", fmt::format("exec {} \"$@\"", FakeProxy::Installed("application"))),
      lab_.client, {});
  script.Do("listen v4 0");
  now_ = SystemClock().Now();
  Consume(now_);
  EXPECT_THAT(proxies_, IsEmpty());
  Pass(90);
  attempts_.clear();
  script.Connect("worker", Family::kV4, Server(), 8080);
  Consume(now_);
  EXPECT_THAT(attempts_, IsEmpty());
}

TEST_F(ProbeProcessesTest, EnvoyOfAnotherNameIsToldByItsThreadsAndTheNextOneByItsName) {
  StartProbe();
  const std::string renamed = FakeProxy::Installed("sidecar-proxy");
  FakeProxy first(renamed, lab_.client, {"-c", "x"});
  FakeProxy other(FakeProxy::Installed("application"), lab_.client, {});
  first.Do("workers");
  other.Do("listen v4 0");
  now_ = SystemClock().Now();
  Pass(11);
  ASSERT_EQ(proxies_.size(), 1u);
  EXPECT_EQ(last().process_id, first.pid());
  EXPECT_EQ(InitiatorOf(first.Connect("worker", Family::kV4, Server(), 8080)), Initiator::kProxy);
  EXPECT_EQ(InitiatorOf(other.Connect("worker", Family::kV4, Server(), 9)),
            Initiator::kApplication);
  // The same program again: the kernel follows it from its exec on, before it has any threads.
  attempts_.clear();
  FakeProxy second(renamed, lab_.client, {"-c", "y", "--base-id", "1"}, {.first = First()});
  second.Do("listen v4 0");
  Consume(now_);
  ASSERT_EQ(proxies_.size(), 2u);
  EXPECT_EQ(last().process_id, second.pid());
  ASSERT_EQ(attempts_.size(), 1u);
  EXPECT_EQ(attempts_[0].initiator, Initiator::kProxy);
  Pass(22);
  EXPECT_EQ(proxies_.size(), 2u) << "a scan changes nothing";
}

TEST_F(ProbeProcessesTest, ExecutableThatIsReplacedWhileItRunsIsStillTheProxys) {
  for (const bool before_the_agent : {true, false}) {
    probe_.reset();
    proxies_.clear();
    if (!before_the_agent) StartProbe();
    const std::string program = Copy("envoy", "envoy");
    FakeProxy proxy(program, lab_.client, {"-c", "x"});
    proxy.Do("listen v4 0");
    fs::remove(program);
    if (before_the_agent) {
      fs::copy_file("/bin/true", program);
      StartProbe();
    }
    ASSERT_TRUE(WaitForProxies(1));
    now_ = SystemClock().Now();
    Pass(22);
    EXPECT_EQ(proxies_.size(), 1u);
    EXPECT_EQ(last().process_id, proxy.pid());
    fs::remove(program);
  }
}

TEST_F(ProbeProcessesTest, CheckOfAConfigurationIsNoProxy) {
  StartProbe();
  FakeProxy parent(envoy_, lab_.client, {"-c", "/etc/0.yaml"});
  parent.Do("listen v4 0");
  FakeProxy check(envoy_, lab_.client, {"--mode", "validate", "-c", "/etc/1.yaml"});
  check.Do("listen v4 0");
  ASSERT_TRUE(WaitForProxies(1));
  Consume(SystemClock().Now() + std::chrono::seconds(11));
  ASSERT_EQ(proxies_.size(), 1u);
  EXPECT_EQ(last().process_id, parent.pid());
}

TEST_F(ProbeProcessesTest, LaterProcessOfTheSameIdIsNotTheProxy) {
  StartProbe();
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"}, {.first = First()});
  proxy.Do("listen v4 0");
  const auto pid = static_cast<pid_t>(proxy.pid());
  proxy.End();
  // /proc tells starts in ticks: two within one could not be told apart by them.
  const BootTime next_tick = SystemClock().Now() + ProxyProcesses::kStartGrain;
  ASSERT_TRUE(WaitFor([&] { return SystemClock().Now() > next_tick; }));
  // Nothing has been read so far: neither that the one began nor that it ended.
  FakeProxy application(FakeProxy::Installed("application"), lab_.client, {}, {.pid = pid});
  const uint16_t source = application.Connect("worker", Family::kV4, Server(), 9);
  ASSERT_EQ(application.pid(), static_cast<uint32_t>(pid));
  EXPECT_EQ(InitiatorOf(source), Initiator::kApplication);
  ASSERT_EQ(attempts_.size(), 2u);
  EXPECT_EQ(attempts_[0].initiator, Initiator::kProxy);
  EXPECT_EQ(attempts_[0].process_id, attempts_[1].process_id);
  ASSERT_EQ(proxies_.size(), 2u);
  EXPECT_TRUE(proxies_[1].gone);
  // A later proxy of this ID is another one.
  application.End();
  FakeProxy again(envoy_, lab_.client, {"-c", "x"}, {.first = First(), .pid = pid});
  again.Do("listen v4 0");
  ASSERT_TRUE(WaitForProxies(3));
  EXPECT_NE(last().proxy.id, proxies_[0].proxy.id);
  EXPECT_EQ(attempts_.back().proxy_id, last().proxy.id);
}

}  // namespace
}  // namespace phantomd
