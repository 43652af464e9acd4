// Core applies inputs that are already in order, judges what is due in between, and keeps house:
// the engine without the merging of edges.
//
// Everything it does happens at an instant of the inputs' own time: attempts at the instant at
// which they are due (or at which the news came that they waited for), windows and compaction on a
// grid that starts with the engine. So the same inputs lead to the same states, however often time
// is advanced in between. Example: inputs at 10 s and 20 s, an attempt due at 14 s: it is judged
// before the second is applied, whether RunUntil(15 s) was called or not. Thread-compatible.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/engine/attempt_judge.h"
#include "agent/engine/end_queue.h"
#include "agent/engine/engine.h"
#include "agent/engine/held_queue.h"
#include "agent/engine/knowledge.h"
#include "agent/engine/late_news.h"
#include "agent/engine/loss_periods.h"
#include "agent/engine/mesh_cluster_name.h"
#include "agent/engine/poll_planner.h"
#include "agent/engine/proxy_table.h"
#include "agent/engine/silence_record.h"

namespace phantomd {

class Core {
 public:
  Core(const Header& header, BootTime started, Engine::Options options, Engine::JudgedSink judged);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Judges everything due before it, then applies it.
  void Apply(const Input& input);
  void RunUntil(BootTime t);
  // Judges everything that is held, with what is known.
  void Finish();
  // An edge posted something older than what was already applied.
  void CountOutOfOrder() { late_.Count("out_of_order"); }

  BootTime now() const { return now_; }
  const PollDemand& demand() const { return planner_.demand(); }
  Knowledge knowledge() const;
  // Everything known, as inputs: header first.
  void Export(const std::function<void(const Input&)>& sink) const;
  WallOffset offset() const { return lifecycle_.wall_offset(); }

 private:
  void On(const Header&, BootTime) {}
  void On(const ProxyChange& change, BootTime at);
  void On(const Attempt& attempt, BootTime at);
  void On(const ConnectionEnd& end, BootTime at);
  void On(const PodChange& change, BootTime at);
  void On(const SliceChange& change, BootTime at);
  void On(const FeedChange& change, BootTime at);
  void On(const BeliefSnapshot& snapshot, BootTime at);
  void On(const Loss& loss, BootTime at);
  void On(const NodeChange& change, BootTime at);
  void On(const PodEnd& end, BootTime at);
  void On(const ClockChange& change, BootTime at);
  void On(const Restored& restored, BootTime at);

  void Restore(const EngineTotals& totals);
  void Restore(const HeldAttempt& held);
  void Restore(const HeldEnd& held);
  void Restore(const NodeSilence& silence);
  void Restore(const WatchedAddresses& watched);
  void Restore(const LastHolders& holders);
  void Restore(const PodOfProxy& named);
  void Restore(const LifecycleRemnant& remnant);
  void Restore(const Counted& counted);

  // What a restored engine is told of the time before it started was counted by the one before it.
  LateNews& LateAt(BootTime at) { return at < started_ ? late_before_start_ : late_; }
  void Touched(const TouchedAddresses& addresses, BootTime at);
  void DecideAll(const std::vector<Ticket>& tickets, BootTime at);
  void Decide(Ticket ticket, BootTime at, bool now_or_never);
  void Count(const Attempt& attempt, const AttemptJudge::Decision& decision, BootTime at);
  void DecideEnd(EndQueue::Number number, BootTime at);
  void DecideEnds(const std::vector<EndQueue::Number>& numbers, BootTime at);
  std::map<Feed, FeedTotals> FeedsNow() const;
  // Under which name it was counted.
  std::string CountLost(const std::string& what, uint64_t count);
  void KeepHouse(BootTime at);
  void SkipSilence(BootTime t);
  void Forget(BootTime horizon);

  // Constant after construction.
  const Header header_;
  const BootTime started_;
  const Engine::Options options_;
  const Engine::JudgedSink judged_;

  Lifecycle lifecycle_;
  Belief belief_;
  ClockHistory clock_;
  Ledger ledger_;
  ProxyTable proxies_;
  MeshClusterName mesh_cluster_;
  SilenceRecord silence_;
  AttemptJudge judge_;
  PollPlanner planner_;
  HeldQueue held_;
  EndQueue ends_;
  LateNews late_;
  LateNews late_before_start_;
  std::map<std::string, uint64_t> lost_;
  LossPeriods losses_;
  std::map<Feed, FeedTotals> feeds_before_;  // what the lifecycle does not remember of them
  std::set<PodHandle> departed_;
  BootTime counting_since_;
  BootTime now_;
  BootTime last_input_;
  BootTime next_housekeeping_;
  BootTime next_compaction_;
  BootTime compacted_to_;  // the horizon of the last compaction; unset: none yet
  uint64_t judged_so_far_ = 0;
};

}  // namespace phantomd
