// CoreLoop is the one writer: it takes what the edges learned, lets the engine judge, and publishes
// what is known.
//
// One Step() is one round: consume the kernel's records, drain the mailbox, advance, tell the Envoy
// edge what to poll, answer questions, publish the report (at most once a second). It never waits
// for the Envoy edge, which itself may wait for this loop's mailbox: what that edge has no room for
// is kept and offered again.
//
// Thread-compatible: Step() and Finish() on one thread, which owns the engine.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "agent/base/mailbox.h"
#include "agent/base/published.h"
#include "agent/engine/engine.h"
#include "agent/envoy/admin_target.h"
#include "agent/probe/probe.h"
#include "agent/serve/agent_health.h"
#include "agent/serve/explain_question.h"

namespace phantomd {

// Where connections and proxies come from: the kernel, or a test.
class NodeSource {
 public:
  virtual ~NodeSource() = default;
  virtual void Consume(BootTime now, const std::function<void(ProbeOutput)>& sink) = 0;
  // The last Consume: also hands out what still waits for more to be learned about it.
  virtual void Finish(BootTime now, const std::function<void(ProbeOutput)>& sink) = 0;
  virtual std::vector<std::string> Limitations() const = 0;
  // What the kernel recorded, against what was read of it.
  virtual std::vector<RecordBalance> Balances() const = 0;
};

// What the loop shares with the other threads. All must outlive it.
struct CoreChannels {
  Mailbox<EdgePost>& inbox;
  Mailbox<AdminChange>& admin_targets;
  ExplainQuestions& questions;
  Published<PollDemand>& demand;
  Published<AgentHealth>& health;
};

// What the loop calls, on its own thread.
struct CoreHooks {
  // The Envoy edge is to look at its demand and targets, and to post a low mark.
  std::function<void()> wake_envoy;
  std::function<AgentHealth()> edges_health;  // how the other edges fare
  std::function<void(std::shared_ptr<const Report>)> show;
};

class CoreLoop {
 public:
  static constexpr Nanos kPublishInterval = std::chrono::seconds(1);
  // More than one scan of /proc: a process that could not be read once is not gone.
  static constexpr Nanos kInheritedGrace = std::chrono::seconds(15);

  // `inherited`: proxies that ran when the engine was told its last; those that the node has not
  // told of after kInheritedGrace are gone. Publishes at once.
  CoreLoop(Engine& engine, NodeSource& node, CoreChannels channels, CoreHooks hooks,
           std::set<ProxyId> inherited);

  // Whether there was anything to do: another round should follow soon.
  bool Step(BootTime now);
  // The other edges have stopped: takes what is left, judges everything and publishes it.
  void Finish(BootTime now);

 private:
  bool Consume(BootTime now);
  // Whether there was anything but low marks.
  bool TakeInbox();
  void Take(ProbeOutput output, BootTime now);
  void TakeProxy(DiscoveredProxy proxy, BootTime now);
  void EndInherited(BootTime now);
  void OfferTargets();
  void Answer();
  void Publish(BootTime now);
  void SayNewLimitations(const std::vector<std::string>& limitations);

  Engine& engine_;
  NodeSource& node_;
  const CoreChannels channels_;
  const CoreHooks hooks_;
  std::set<ProxyId> inherited_;  // and not told of yet
  BootTime inherited_until_;     // unset: no round yet

  std::deque<AdminChange> targets_;  // for which the Envoy edge has had no room yet
  PollDemand told_demand_;
  bool kube_news_ = false;  // that is not applied yet, perhaps
  BootTime published_;
  std::vector<std::string> said_;  // limitations of the node that were logged
};

// A path as the process with this ID sees it, of one that leads through /proc/<pid>/root or cwd.
std::string PathInProcess(const std::string& path, uint32_t process_id);

}  // namespace phantomd
