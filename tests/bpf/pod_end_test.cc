// When the node's pods end, as the kernel tells it: real processes in real cgroups and namespaces.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/base/check.h"
#include "agent/base/clock.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/probe/probe.h"
#include "tests/bpf/pod_lab.h"
#include "tests/bpf/storm_holdings.h"

namespace phantomd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;

// What the test itself knows: the instant lies between these two.
struct Truth {
  BootTime from;
  BootTime to;
};

class PodEndProbeTest : public testing::Test {
 protected:
  void StartProbe(const ProbeOptions& options = {}) {
    auto probe = Probe::Start(options, SystemClock().Now());
    ASSERT_TRUE(probe.ok()) << probe.status();
    probe_ = *std::move(probe);
    Consume();
    objects_ = BpfObjects::Mine();
  }

  void Consume(BootTime now = SystemClock().Now()) {
    probe_->Consume(now, [&](ProbeOutput output) {
      if (auto* end = std::get_if<PodEnd>(&output); end != nullptr && node_.IsOurs(end->pod_uid)) {
        EXPECT_LE(end->ended, now);
        ends_.push_back(std::move(*end));
      } else if (auto* loss = std::get_if<Loss>(&output)) {
        losses_.push_back(std::move(*loss));
      }
    });
  }
  // Whether the kernel looks for the pod's link: all is known of the pod then, and nothing any more
  // once its network is lost.
  bool Follows(const TestPod& pod) const {
    return objects_.KeysOf<uint64_t>("pod_links").contains(pod.netns->cookie());
  }
  bool WaitUntilFollowed(const TestPod& pod, bool followed = true) {
    return WaitFor([&] {
      Consume();
      return Follows(pod) == followed;
    });
  }
  bool WaitForEnds(size_t count) {
    return WaitFor([&] {
      Consume();
      return ends_.size() >= count;
    });
  }
  static Truth End(std::unique_ptr<FakeProxy>& process) {
    const BootTime from = SystemClock().Now();
    process.reset();
    return {from, SystemClock().Now()};
  }
  static auto IsEndOf(const PodUid& uid, const IpAddr& ip, const Truth& truth) {
    return AllOf(Field(&PodEnd::pod_uid, uid), Field(&PodEnd::ips, ElementsAre(ip)),
                 Field(&PodEnd::ended, AllOf(Ge(truth.from), Le(truth.to))),
                 Field(&PodEnd::evidence, "last process"));
  }

  PodNode node_;
  std::unique_ptr<Probe> probe_;
  BpfObjects objects_;
  std::vector<PodEnd> ends_;
  std::vector<Loss> losses_;
};

TEST_F(PodEndProbeTest, IsDatedToTheLastProcessWhateverThePodIsMadeOf) {
  StartProbe();
  for (const auto form : {PodNode::Form::kSandbox, PodNode::Form::kPlain, PodNode::Form::kBare}) {
    ends_.clear();
    TestPod pod = node_.Begin(form);
    ASSERT_TRUE(WaitUntilFollowed(pod));
    const Truth truth = End(pod.application);
    pod.sandbox.reset();
    pod.netns.reset();
    ASSERT_TRUE(WaitForEnds(1));
    EXPECT_THAT(ends_, ElementsAre(IsEndOf(pod.uid, pod.ip, truth)));
  }
}

TEST_F(PodEndProbeTest, PodThatRanBeforeTheAgentIsKnown) {
  TestPod pod = node_.Begin();
  StartProbe();
  EXPECT_TRUE(Follows(pod)) << "by the first round";
  const Truth truth = End(pod.application);
  pod.sandbox.reset();
  pod.netns.reset();
  ASSERT_TRUE(WaitForEnds(1));
  EXPECT_THAT(ends_, ElementsAre(IsEndOf(pod.uid, pod.ip, truth)));
}

TEST_F(PodEndProbeTest, CrashIsNoEnd) {
  StartProbe();
  TestPod pod = node_.Begin(PodNode::Form::kPlain);
  ASSERT_TRUE(WaitUntilFollowed(pod));
  End(pod.application);
  Consume();
  pod.application = node_.Start(pod, "again");
  Consume();
  const Truth truth = End(pod.application);
  pod.netns->DeleteLink("eth0");
  ASSERT_TRUE(WaitForEnds(1));
  EXPECT_THAT(ends_, ElementsAre(IsEndOf(pod.uid, pod.ip, truth)));
}

// The namespace lives on, held by this process as a mount would: its link tells.
TEST_F(PodEndProbeTest, NamespaceThatIsKeptAliveIsNoEndUntilItsLinkGoes) {
  StartProbe();
  TestPod pod = node_.Begin();
  ASSERT_TRUE(WaitUntilFollowed(pod));
  const Truth truth = End(pod.application);
  pod.sandbox.reset();
  const BootTime now = SystemClock().Now();
  for (int second = 0; second < 60; ++second) Consume(now + std::chrono::seconds(second));
  EXPECT_THAT(ends_, IsEmpty());
  EXPECT_TRUE(Follows(pod));
  pod.netns->DeleteLink("eth0");
  ASSERT_TRUE(WaitForEnds(1));
  EXPECT_THAT(ends_, ElementsAre(IsEndOf(pod.uid, pod.ip, truth)));
}

TEST_F(PodEndProbeTest, AddressLostUnderARunningContainerIsLeftToTheApi) {
  StartProbe();
  TestPod pod = node_.Begin();
  ASSERT_TRUE(WaitUntilFollowed(pod));
  pod.netns->DeleteLink("eth0");
  End(pod.application);
  pod.sandbox.reset();
  pod.netns.reset();
  ASSERT_TRUE(WaitFor([&] {
    Consume();
    return objects_.KeysOf<uint64_t>("pod_links").empty();
  }));
  EXPECT_THAT(ends_, IsEmpty());
}

// As a helper of the interface plugin leaves it: not the pod's link.
TEST_F(PodEndProbeTest, AnotherLinkOfThePodIsNotItsAddress) {
  StartProbe();
  TestPod pod = node_.Begin();
  pod.netns->Shell(
      "ip link add extra type veth peer name extra2; ip addr add 10.89.0.1/32 dev extra");
  ASSERT_TRUE(WaitUntilFollowed(pod));
  pod.netns->DeleteLink("extra");
  const Truth truth = End(pod.application);
  Consume();
  EXPECT_TRUE(Follows(pod));
  pod.netns->DeleteLink("eth0");
  ASSERT_TRUE(WaitForEnds(1));
  EXPECT_THAT(ends_, ElementsAre(IsEndOf(pod.uid, pod.ip, truth)));
}

// A storm of processes in a pod and beside it makes no record: the kernel counts them.
TEST_F(PodEndProbeTest, ProcessesThatComeAndGoCostNothing) {
  TestPod pod = node_.Begin();
  auto kernel = KernelProbe::Load({});
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  PodRecords* pods = (*kernel)->pods();
  ASSERT_NE(pods, nullptr);
  const std::string uid = pod.uid.value();
  const auto of_the_pod = [&] {
    int out = 0;
    for (const CgroupEvent& event : pods->Take()) out += event.path.find(uid) != std::string::npos;
    return out;
  };
  of_the_pod();
  const pid_t storm = fork();
  PHANTOMD_CHECK(storm >= 0);
  if (storm == 0) {
    raise(SIGSTOP);
    for (int i = 0; i < 500; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        execl("/bin/true", "true", nullptr);
        _exit(127);
      }
      waitpid(child, nullptr, 0);
    }
    _exit(0);
  }
  int status = 0;
  PHANTOMD_CHECK(waitpid(storm, &status, WUNTRACED) == storm && WIFSTOPPED(status));
  node_.cgroups().Move(storm, "pod" + uid + "/application");
  kill(storm, SIGCONT);
  PHANTOMD_CHECK(waitpid(storm, &status, 0) == storm && WIFEXITED(status));
  EXPECT_EQ(of_the_pod(), 0);
  pod.application.reset();
  EXPECT_EQ(of_the_pod(), 1);
  pod.sandbox.reset();
  EXPECT_EQ(of_the_pod(), 2) << "its own cgroup and the pod's";
}

// The ring holds some 1,900 events; who reads none of them loses some, is told how many, and counts
// again what runs.
TEST_F(PodEndProbeTest, LostEventsAreCountedAndMakeNoEndWrong) {
  ProbeOptions options;
  options.kernel.pod_ring_bytes = 1 << 14;  // some 30 records: a move waits for every processor
  StartProbe(options);
  TestPod pod = node_.Begin();
  TestPod other = node_.Begin();
  ASSERT_TRUE(WaitUntilFollowed(pod) && WaitUntilFollowed(other));
  const auto flood = [&] {
    const pid_t mover = fork();
    PHANTOMD_CHECK(mover >= 0);
    if (mover == 0) {
      for (;;) ::pause();
    }
    for (int i = 0; i < 40; ++i) {
      node_.cgroups().Move(mover, fmt::format("pod{}/{}", pod.uid.value(), i % 2 ? "x" : "y"));
    }
    kill(mover, SIGKILL);
    waitpid(mover, nullptr, 0);
  };
  flood();
  End(other.application);  // unseen
  other.sandbox.reset();
  other.netns->DeleteLink("eth0");
  ASSERT_TRUE(WaitUntilFollowed(other, false));
  EXPECT_THAT(ends_, IsEmpty());
  uint64_t lost = 0;
  uint64_t untold = 0;
  for (const Loss& loss : losses_) {
    if (loss.what == "pod_cgroup") lost += loss.count;
    if (loss.what == "pod_end") untold += loss.count;
  }
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(untold, 1u);
  // The pod that was seen to run again afterwards ends exactly.
  const Truth truth = End(pod.application);
  pod.netns->DeleteLink("eth0");
  ASSERT_TRUE(WaitForEnds(1));
  EXPECT_THAT(ends_, ElementsAre(IsEndOf(pod.uid, pod.ip, truth)));
}

// What the index makes of it: the bounds of the end before and after, for pods that end at all
// instants of the second in which the API's times are told.
TEST_F(PodEndProbeTest, NarrowsTheBoundsOfTheIndex) {
  StartProbe();
  const SystemClock clock;
  Lifecycle lifecycle({.feed_delay = std::chrono::seconds(2),
                       .typical_delay = std::chrono::milliseconds(100),
                       .clock_error = std::chrono::milliseconds(500)},
                      clock.Offset());
  lifecycle.Apply(FeedChange{Feed::kPods, FeedState::kSynced, {}}, clock.Now());
  const auto whole_second = [](WallTime t) {
    return WallTime::FromNanos(t.nanos() / 1'000'000'000 * 1'000'000'000);
  };
  for (int i = 0; i < 5; ++i) {
    ends_.clear();
    TestPod pod = node_.Begin();
    PodChange told;
    told.pod.uid = pod.uid;
    told.ips = {pod.ip};
    told.phase = PodPhase::kRunning;
    told.created = whole_second(clock.Offset().ToWall(clock.Now()));
    lifecycle.Apply(told, clock.Now());
    ASSERT_TRUE(WaitUntilFollowed(pod));
    told.deletion_requested = whole_second(clock.Offset().ToWall(clock.Now()));
    lifecycle.Apply(told, clock.Now());
    const Truth truth = End(pod.application);
    pod.sandbox.reset();
    pod.netns.reset();
    told.containers_finished = whole_second(clock.Offset().ToWall(truth.to));
    lifecycle.Apply(told, truth.to + std::chrono::milliseconds(200));  // as a kubelet reports it
    const TimeBounds before = lifecycle.ReleasedBounds(lifecycle.FindPod(pod.uid));
    ASSERT_TRUE(WaitForEnds(1));
    lifecycle.Apply(ends_.front(), clock.Now());
    const TimeBounds after = lifecycle.ReleasedBounds(lifecycle.FindPod(pod.uid));
    const auto millis = [](const TimeBounds& bounds) {
      return static_cast<double>((bounds.not_after - bounds.not_before).count()) / 1e6;
    };
    std::printf(
        "the end of a pod: within %7.1f ms by the API, %.3f ms by the kernel; it took %.3f ms\n",
        millis(before), millis(after), static_cast<double>((truth.to - truth.from).count()) / 1e6);
    EXPECT_LE(before.not_before, truth.to);
    EXPECT_GE(before.not_after, truth.from);
    EXPECT_GE(after.not_before, truth.from);
    EXPECT_LE(after.not_after, truth.to);
    const std::vector<TenancyFacts> tenancies = lifecycle.Tenancies(pod.ip);
    ASSERT_EQ(tenancies.size(), 1u);
    EXPECT_EQ(tenancies[0].evidence, "last process");
  }
}

// PHANTOMD_CHURN (40) pods, after the first 20 of which the process has what it needs.
TEST_F(PodEndProbeTest, PodsThatComeAndGoLeaveNothingBehind) {
  constexpr int kWarmUpPods = 20;
  const char* text = std::getenv("PHANTOMD_CHURN");
  const int pods = text == nullptr ? 40 : std::atoi(text);
  StartProbe();
  std::vector<Truth> truths;
  std::vector<TestPod> begun;
  Holdings before;
  for (int i = 0; i < pods; ++i) {
    if (i == kWarmUpPods) before = Holdings::Now();
    TestPod pod = node_.Begin(i % 2 ? PodNode::Form::kPlain : PodNode::Form::kSandbox);
    ASSERT_TRUE(WaitUntilFollowed(pod));
    truths.push_back(End(pod.application));
    pod.sandbox.reset();
    pod.netns.reset();
    begun.push_back(std::move(pod));
  }
  ASSERT_TRUE(WaitForEnds(pods));
  EXPECT_THAT(objects_.KeysOf<uint64_t>("pod_links"), IsEmpty());
  const Holdings after = Holdings::Now();
  std::printf("after %d: %s\nall gone: %s\n", kWarmUpPods, before.ToString().c_str(),
              after.ToString().c_str());
  ASSERT_EQ(ends_.size(), begun.size());
  std::sort(ends_.begin(), ends_.end(),
            [](const PodEnd& a, const PodEnd& b) { return a.pod_uid < b.pod_uid; });
  for (size_t i = 0; i < begun.size(); ++i) {
    EXPECT_THAT(ends_[i], IsEndOf(begun[i].uid, begun[i].ip, truths[i]));
  }
  EXPECT_EQ(after.maps, before.maps);
  EXPECT_EQ(after.programs, before.programs);
  EXPECT_EQ(after.links, before.links);
  EXPECT_LE(after.descriptors, before.descriptors);
  EXPECT_LT(after.heap_bytes, before.heap_bytes + 64 * 1024 + 512 * begun.size());
}

}  // namespace
}  // namespace phantomd
