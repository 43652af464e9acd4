#include "agent/cmd/daemon/core_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/cmd/daemon/edges_health.h"
#include "tests/cmd/sample_recording.h"
#include "tests/wire/sample_report.h"

namespace phantomd {
namespace {

using testing::At;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FakeNode : public NodeSource {
 public:
  void Consume(BootTime, const std::function<void(ProbeOutput)>& sink) override {
    for (ProbeOutput& output : std::exchange(outputs, {})) sink(std::move(output));
  }
  void Finish(BootTime now, const std::function<void(ProbeOutput)>& sink) override {
    Consume(now, sink);
    for (ProbeOutput& output : std::exchange(held_back, {})) sink(std::move(output));
  }
  std::vector<std::string> Limitations() const override { return limitations; }
  std::vector<RecordBalance> Balances() const override { return balances; }

  std::vector<ProbeOutput> outputs;
  std::vector<ProbeOutput> held_back;  // what only the end brings out
  std::vector<std::string> limitations;
  std::vector<RecordBalance> balances;
};

class CoreLoopTest : public ::testing::Test {
 protected:
  CoreLoopTest()
      : engine_(
            std::get<Header>(testing::SampleRecording()[0].value), At(1), Engine::Options(),
            [this](const Input& input) { applied_.push_back(input); }, Engine::JudgedSink()),
        loop_(engine_, node_, {inbox_, targets_, questions_, demand_, health_},
              {.wake_envoy = [this] { ++woken_; },
               .edges_health = [this] { return edges_; },
               .show = [this](std::shared_ptr<const Report> report) { report_.Set(report); }},
              {ProxyId("heir"), ProxyId("lost")}) {}

  // Everything of the sample recording that its edges tell until `until`, then their low marks.
  void PostEdges(BootTime until) {
    for (const Input& input : testing::SampleRecording()) {
      if (input.observed <= posted_ || input.observed > until) continue;
      if (std::holds_alternative<Header>(input.value)) continue;
      if (const auto* attempt = std::get_if<Attempt>(&input.value)) {
        node_.outputs.push_back(*attempt);
      } else if (const auto* proxy = std::get_if<ProxyChange>(&input.value)) {
        node_.outputs.push_back(DiscoveredProxy{.proxy = proxy->proxy, .process_id = 4711});
      } else {
        const bool is_belief = std::holds_alternative<BeliefSnapshot>(input.value);
        inbox_.Post({is_belief ? Edge::kEnvoy : Edge::kKube, input});
      }
    }
    posted_ = until;
    inbox_.Post({Edge::kKube, until});
    inbox_.Post({Edge::kEnvoy, until});
  }
  void RunUntil(double seconds) {
    for (; clock_ <= seconds; clock_ += 0.5) {
      PostEdges(At(clock_));
      loop_.Step(At(clock_));
    }
  }

  // Those that do not belong to the sample recording.
  std::vector<std::string> ProxiesTold() const {
    std::vector<std::string> told;
    for (const Input& input : applied_) {
      const auto* change = std::get_if<ProxyChange>(&input.value);
      if (change == nullptr || change->proxy.netns_cookie != 0) continue;
      told.push_back(change->proxy.id.value() + (change->gone ? " gone" : ""));
    }
    return told;
  }

  std::vector<Input> applied_;
  int woken_ = 0;
  AgentHealth edges_;
  FakeNode node_;
  Mailbox<EdgePost> inbox_{1000};
  Mailbox<AdminChange> targets_{2};
  ExplainQuestions questions_{4};
  Published<PollDemand> demand_;
  Published<Report> report_;
  Published<AgentHealth> health_;
  Engine engine_;
  CoreLoop loop_;
  BootTime posted_ = At(1);
  double clock_ = 1.5;
};

DiscoveredProxy Discovered(const std::string& id, bool gone = false) {
  DiscoveredProxy out{.process_id = 77, .gone = gone};
  out.proxy.id = ProxyId(id);
  out.bootstrap_path = "/proc/77/root/etc/envoy.yaml";
  return out;
}

std::vector<std::string> IdsIn(Mailbox<AdminChange>& targets) {
  std::vector<std::string> out;
  for (const AdminChange& change : targets.TakeAll()) {
    out.push_back(change.target.proxy.id.value() + (change.gone ? " gone" : ""));
  }
  return out;
}

TEST_F(CoreLoopTest, ConnectionTravelsFromTheEdgesToTheReport) {
  RunUntil(29);
  EXPECT_EQ(report_.Get()->status.attempts, 3u);
  EXPECT_TRUE(report_.Get()->connections.empty());
  RunUntil(45);
  EXPECT_EQ(report_.Get()->status.attempts, 5u);
  ASSERT_FALSE(report_.Get()->connections.empty());
  const Connection& dead = *report_.Get()->connections.front()->front();
  EXPECT_EQ(dead.destination_class, DestinationClass::kDead);
  EXPECT_EQ(dead.last_holder.pod.name, "catalog-a");
}

TEST_F(CoreLoopTest, WhatIsAppliedReplaysToTheSameReport) {
  RunUntil(36);
  loop_.Finish(At(36.1));
  Engine replayed(std::get<Header>(testing::SampleRecording()[0].value), At(1), Engine::Options(),
                  Engine::AppliedSink(), Engine::JudgedSink());
  for (const Input& input : applied_) ASSERT_TRUE(replayed.Replay(input).ok());
  replayed.Finish();
  EXPECT_EQ(replayed.MakeReport()->status.attempts_by_class,
            report_.Get()->status.attempts_by_class);
  EXPECT_EQ(report_.Get()->status.attempts, 5u);
}

TEST_F(CoreLoopTest, FinishJudgesWhatStillWaits) {
  RunUntil(33.5);
  const uint64_t before = report_.Get()->status.attempts;
  EXPECT_LT(before, 5u);
  loop_.Finish(At(33.6));
  EXPECT_EQ(report_.Get()->status.attempts, 5u);
  EXPECT_EQ(report_.Get()->status.held, 0u);
}

TEST_F(CoreLoopTest, FinishAsksTheNodeForWhatItHeldBack) {
  RunUntil(36);
  Attempt attempt;
  attempt.initiator = Initiator::kIntercepted;
  attempt.started = attempt.ended = At(35.9);
  node_.held_back.push_back(attempt);
  const uint64_t before = report_.Get()->status.not_judged;
  loop_.Finish(At(36.1));
  EXPECT_EQ(report_.Get()->status.not_judged, before + 1);
}

TEST_F(CoreLoopTest, InheritedProxyThatIsNotFoundIsGone) {
  node_.outputs.push_back(Discovered("heir"));
  loop_.Step(At(2));
  node_.outputs.push_back(Discovered("late"));
  loop_.Step(At(16.9));
  PostEdges(At(17));
  loop_.Step(At(17));
  EXPECT_EQ(ProxiesTold(), (std::vector<std::string>{"heir", "late"})) << "a scan may miss one";
  loop_.Step(At(17.1));
  PostEdges(At(18));
  loop_.Step(At(18));
  EXPECT_EQ(ProxiesTold(), (std::vector<std::string>{"heir", "late", "lost gone"}));
}

TEST_F(CoreLoopTest, EndOfAPodIsAppliedWithItsOwnInstantAndExplained) {
  RunUntil(15);
  const IpAddr ip = IpAddr::V4(10, 1, 0, 1);
  const PodEnd end{PodUid("uid-a"), {ip}, At(15.25), "last process"};
  node_.outputs.push_back(end);
  RunUntil(19);
  EXPECT_THAT(applied_, Contains(Input{At(15.5), end}));
  const auto explained = engine_.Explain({ip, 0}, At(19));
  ASSERT_FALSE(explained.holders.empty());
  EXPECT_EQ(explained.holders[0].released_not_before, At(15.25));
  EXPECT_EQ(explained.holders[0].released_not_after, At(15.25));
  EXPECT_EQ(explained.holders[0].evidence, "last process");
}

TEST_F(CoreLoopTest, PublishesAtMostOnceASecond) {
  loop_.Step(At(2));
  const auto first = report_.Get();
  loop_.Step(At(2.9));
  EXPECT_EQ(report_.Get(), first);
  loop_.Step(At(3));
  EXPECT_NE(report_.Get(), first);
}

TEST_F(CoreLoopTest, TargetsGoToTheEnvoyEdgeInOrderAndWaitForRoomWithoutBlocking) {
  node_.outputs = {Discovered("a"), Discovered("b"), Discovered("a", true)};
  loop_.Step(At(2));
  EXPECT_EQ(woken_, 1);
  EXPECT_THAT(IdsIn(targets_), ElementsAre("a", "b"));
  loop_.Step(At(2.05));
  EXPECT_EQ(woken_, 2);
  EXPECT_THAT(IdsIn(targets_), ElementsAre("a gone"));
  loop_.Step(At(2.1));
  EXPECT_EQ(woken_, 2);
  EXPECT_THAT(IdsIn(targets_), IsEmpty());
}

TEST_F(CoreLoopTest, TargetNamesItsBootstrapAsTheProcessSeesIt) {
  node_.outputs = {Discovered("a")};
  loop_.Step(At(2));
  const auto changes = targets_.TakeAll();
  ASSERT_EQ(changes.size(), 1u);
  EXPECT_EQ(changes[0].target.bootstrap_path, "/etc/envoy.yaml");
  EXPECT_EQ(changes[0].target.pid, 77);
  EXPECT_EQ(PathInProcess("/proc/77/cwd/envoy.yaml", 77), "envoy.yaml");
  EXPECT_EQ(PathInProcess("/proc/7/root/envoy.yaml", 77), "/proc/7/root/envoy.yaml");
  EXPECT_EQ(PathInProcess("", 77), "");
}

TEST_F(CoreLoopTest, DemandIsPublishedWhenItChangesAndTheEdgeIsWoken) {
  const auto at_rest = demand_.Get();
  RunUntil(19.5);
  EXPECT_EQ(demand_.Get(), at_rest);
  const int woken = woken_;
  // The withdrawal at 20 s touches what the proxy believes in.
  RunUntil(22);
  ASSERT_TRUE(demand_.Get()->proxies.contains(ProxyId("webapp/c0ffee")));
  EXPECT_TRUE(demand_.Get()->proxies.at(ProxyId("webapp/c0ffee")).fast);
  EXPECT_GT(woken_, woken);
}

TEST_F(CoreLoopTest, NewsOfPodsWaitsForNoLowMarkOfTheEnvoyEdge) {
  loop_.Step(At(2));
  inbox_.Post({Edge::kKube, At(2)});
  inbox_.Post({Edge::kEnvoy, At(2)});
  EXPECT_FALSE(loop_.Step(At(2.5))) << "nothing to do";
  EXPECT_EQ(woken_, 0);
  inbox_.Post({Edge::kKube, Input{At(2.6), PodChange{.pod = {.uid = PodUid("u")}}}});
  inbox_.Post({Edge::kKube, At(2.61)});
  EXPECT_TRUE(loop_.Step(At(2.7)));
  EXPECT_EQ(woken_, 1) << "its mark is wanted";
  inbox_.Post({Edge::kEnvoy, At(2.7)});
  loop_.Step(At(2.75));
  EXPECT_EQ(woken_, 1);
  EXPECT_TRUE(std::holds_alternative<PodChange>(applied_.back().value));
  inbox_.Post({Edge::kEnvoy, Input{At(2.8), BeliefSnapshot{.proxy_id = ProxyId("p")}}});
  EXPECT_TRUE(loop_.Step(At(2.9)));
  EXPECT_EQ(woken_, 1) << "the edge posts one behind its own news";
}

TEST_F(CoreLoopTest, QuestionIsAnsweredInTheSameRound) {
  RunUntil(36);
  auto question = std::make_unique<ExplainQuestion>();
  question->address = {IpAddr::V4(10, 1, 0, 1), 0};
  question->time = At(12);
  auto then = question->answer.get_future();
  ASSERT_TRUE(questions_.TryPost(std::move(question)));
  question = std::make_unique<ExplainQuestion>();
  question->address = {IpAddr::V4(10, 1, 0, 1), 0};
  auto now = question->answer.get_future();
  ASSERT_TRUE(questions_.TryPost(std::move(question)));
  loop_.Step(At(36.5));
  const AddressExplanation alive = then.get();
  EXPECT_EQ(alive.destination, DestinationClass::kLive);
  EXPECT_EQ(alive.time, At(12));
  const AddressExplanation dead = now.get();
  EXPECT_EQ(dead.destination, DestinationClass::kDead);
  EXPECT_GT(dead.time, At(30));
}

TEST_F(CoreLoopTest, HealthIsThatOfAllEdgesAndOfTheMailbox) {
  node_.limitations = {"the tracepoint tcp_receive_reset is missing"};
  edges_.limitations = {"no Kubernetes feed is followed"};
  edges_.admin_poll_errors = 3;
  node_.balances = {{.what = "attempt", .submitted = 9, .read = 8, .lost = 2}};
  loop_.Step(At(5));
  const auto health = health_.Get();
  EXPECT_THAT(health->limitations, ElementsAre("the tracepoint tcp_receive_reset is missing",
                                               "no Kubernetes feed is followed"));
  EXPECT_EQ(health->admin_poll_errors, 3u);
  EXPECT_EQ(health->mailbox_blocked.at("core"), 0u);
  const AgentHealth::KernelRecords attempts = health->kernel_records.at("attempt");
  EXPECT_EQ(attempts.made, 9u);
  EXPECT_EQ(attempts.read, 8u);
  EXPECT_EQ(attempts.lost, 2u);
}

TEST(EdgesHealthTest, FeedThatIsNotSyncedSaysWhy) {
  KubeStats kube;
  kube.feeds = {{.source = "file:pods.json", .feed = Feed::kPods, .waiting = "pods.json: missing"},
                {.source = "file:slices.json",
                 .feed = Feed::kSlices,
                 .skipped = 2,
                 .last_error = "slices.json line 3: broken"},
                {.source = "file:x", .waiting = "x: missing"}};
  const AgentHealth health = EdgesHealth(kube, AdminPollStats(), std::nullopt, "");
  EXPECT_EQ(health.feed_errors.at(Feed::kPods), "pods.json: missing");
  EXPECT_EQ(health.feed_errors.at(Feed::kSlices), "slices.json line 3: broken");
  EXPECT_THAT(health.limitations, ElementsAre("x: missing"));
  EXPECT_EQ(health.skipped.at("slices"), 2u);
}

TEST(EdgesHealthTest, SkippedEventOfASyncedFeedIsALimitation) {
  KubeStats kube;
  kube.feeds = {{.source = "file:pods.json",
                 .feed = Feed::kPods,
                 .synced = true,
                 .skipped = 1,
                 .last_error = "pods.json line 3: broken"}};
  const AgentHealth health = EdgesHealth(kube, AdminPollStats(), std::nullopt, "");
  EXPECT_THAT(health.feed_errors, IsEmpty());
  EXPECT_THAT(health.limitations, ElementsAre("pods.json line 3: broken"));
}

TEST(EdgesHealthTest, PollsAndRecordingAreCounted) {
  AdminPollStats polls;
  polls.Observe(std::chrono::milliseconds(3));
  polls.errors = {{"connect", 2}, {"timeout", 1}};
  polls.limitations = {{ProxyId("p"), "proxy p keeps no update_time"}};
  const AgentHealth health = EdgesHealth(
      KubeStats(), polls,
      RecordingStats{.written = 9, .lost = 4, .error = "r.rec: No space left on device"},
      "cannot keep the state in /s/state.db: database or disk is full");
  EXPECT_EQ(health.admin_polls.count, 1u);
  EXPECT_EQ(health.admin_polls.buckets.size(), health.admin_polls.bounds.size() + 1);
  EXPECT_EQ(health.admin_polls.buckets[3], 1u);
  EXPECT_EQ(health.admin_poll_errors, 3u);
  EXPECT_THAT(health.limitations,
              ElementsAre("no Kubernetes feed is followed (--feed): no pod is known",
                          "proxy p keeps no update_time",
                          "r.rec: No space left on device; 4 inputs since then are not in it",
                          "cannot keep the state in /s/state.db: database or disk is full; a "
                          "restart would go on from what was kept before"));
}

}  // namespace
}  // namespace phantomd
