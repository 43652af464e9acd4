// EdgeHarness runs an EnvoyEdge as the agent does and stands in for the core: it reads the mailbox,
// checks every stamp against the low marks, and waits for what a test wants to see.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/clock.h"
#include "agent/envoy/envoy_edge.h"

namespace phantomd {

class EdgeHarness {
 public:
  explicit EdgeHarness(EnvoyEdgeOptions options, AdminSocketsOf sockets = SocketsOfOwnNamespace)
      : edge_(std::make_unique<EnvoyEdge>(std::move(options), clock_, std::move(sockets), targets_,
                                          demand_, core_)) {
    edge_->Start();
  }

  void Register(const AdminTarget& target) {
    targets_.Post({target, false});
    edge_->Wake();
  }
  void Gone(const ProxyId& proxy) {
    AdminChange change;
    change.target.proxy.id = proxy;
    change.gone = true;
    targets_.Post(change);
    edge_->Wake();
  }
  void Demand(const PollDemand& demand) {
    demand_.Set(std::make_shared<const PollDemand>(demand));
    edge_->Wake();
  }
  BootTime Now() const { return clock_.Now(); }
  EnvoyEdge& edge() { return *edge_; }

  // The next snapshot that the test accepts; others are passed over. Fails the test after 20 s.
  std::optional<BeliefSnapshot> NextSnapshot(
      const std::function<bool(const BeliefSnapshot&)>& accept) {
    std::optional<BeliefSnapshot> found;
    ReadUntil("a snapshot", [&](const EdgePost& post) {
      const auto* input = std::get_if<Input>(&post.value);
      if (input == nullptr) return false;
      if (const auto* change = std::get_if<ProxyChange>(&input->value)) proxies_.push_back(*change);
      const auto* snapshot = std::get_if<BeliefSnapshot>(&input->value);
      if (snapshot == nullptr || !accept(*snapshot)) return false;
      found = *snapshot;
      return true;
    });
    return found;
  }
  // Reads until `count` more low marks have come.
  void PassLowMarks(int count) {
    ReadUntil("low marks", [&](const EdgePost& post) {
      return std::holds_alternative<BootTime>(post.value) && --count <= 0;
    });
  }
  // Stops the edge; what it posted last.
  std::optional<EdgePost> StopAndTakeLast() {
    edge_->Stop();
    std::optional<EdgePost> last;
    for (EdgePost& post : core_.TakeAll()) {
      Check(post);
      last = std::move(post);
    }
    return last;
  }

  const std::vector<ProxyChange>& proxies() const { return proxies_; }
  int low_marks() const { return low_marks_; }

 private:
  void ReadUntil(const char* what, const std::function<bool(const EdgePost&)>& done) {
    const BootTime deadline = clock_.Now() + std::chrono::seconds(20);
    while (clock_.Now() < deadline) {
      const auto post = core_.Take(std::chrono::milliseconds(100));
      if (!post.has_value()) continue;
      Check(*post);
      if (done(*post)) return;
    }
    ADD_FAILURE() << "waited in vain for " << what;
  }
  void Check(const EdgePost& post) {
    EXPECT_EQ(post.edge, Edge::kEnvoy);
    if (const auto* mark = std::get_if<BootTime>(&post.value)) {
      EXPECT_GE(*mark, mark_) << "a low mark went back";
      mark_ = *mark;
      ++low_marks_;
      return;
    }
    const Input& input = std::get<Input>(post.value);
    EXPECT_GE(input.observed, mark_) << "observed before the low mark";
    if (const auto* snapshot = std::get_if<BeliefSnapshot>(&input.value)) {
      EXPECT_LE(snapshot->requested, snapshot->received);
      EXPECT_LE(snapshot->received, input.observed);
    }
  }

  SystemClock clock_;
  Mailbox<AdminChange> targets_{16};
  Published<PollDemand> demand_;
  Mailbox<EdgePost> core_{4096};
  std::vector<ProxyChange> proxies_;
  BootTime mark_ = BootTime::Min();
  int low_marks_ = 0;
  std::unique_ptr<EnvoyEdge> edge_;  // last: it ends before what it posts to
};

}  // namespace phantomd
