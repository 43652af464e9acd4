// AttemptJudge takes one held attempt to its verdict, or says what it should wait for and how long.
//
// Three things make an attempt wait longer than judgement_delay: a feed that broke before its end
// (until the feed is synced, or max_gap_hold after its end), news that the verdict wants (a pod's
// end, a node's loss) and an answer of the proxy's admin API (until it came, or max_hold after the
// attempt was first tried). A poll is asked for behind a broken feed too: what the proxy believed
// is to be learned now. At the limits it is judged with what is known. Example, max_hold 60 s: due
// at 14 s and refused by a withdrawn pod whose end nobody told: wait for the address until 74 s.
//
// Borrows what it reads. Thread-compatible.
#pragma once

#include <optional>

#include "agent/belief/belief.h"
#include "agent/engine/held_queue.h"
#include "agent/engine/input.h"
#include "agent/engine/mesh_cluster_name.h"
#include "agent/engine/proxy_table.h"
#include "agent/engine/silence_record.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/verdict/verdict.h"

namespace phantomd {

class AttemptJudge {
 public:
  // What the judge reads of the engine.
  struct World {
    const Settings& settings;
    const Lifecycle& lifecycle;
    const Belief& belief;
    const ProxyTable& proxies;
    const MeshClusterName& mesh_cluster;
    SilenceRecord& silence;
  };
  explicit AttemptJudge(World world) : world_(world) {}

  struct Decision {
    bool wait = false;
    BootTime until;  // with wait
    WaitsFor waits;  // with wait
    ProxyTable::Origin origin;
    bool not_judged = false;  // a downstream half, or nobody's caller
    Verdict verdict;          // with neither
  };
  // `now_or_never`: no more waiting, at the end of a recording or for lack of memory.
  Decision Decide(HeldAttempt& held, BootTime at, bool now_or_never);

  // Call it after each FeedChange.
  void FeedsChanged();
  // News is complete up to here: `at` minus judgement_delay, or where a feed broke.
  BootTime WatermarkAt(BootTime at) const;
  BootTime broken_since() const { return broken_since_; }

  // The class that a connection of this proxy to this address would have if it began at `at`; an
  // empty proxy asks about the address alone.
  Verdict Suppose(const ProxyId& proxy, const SocketAddr& address, BootTime at) const;

 private:
  Judgement JudgeWithNodeNews(const Attempt& attempt, const ProxyId& proxy, JudgeContext& context);
  void RecordSilence(const Attempt& attempt, const Verdict& verdict);
  JudgeContext Context() const;

  const World world_;
  BootTime broken_since_ = BootTime::Max();  // the earliest good_until of the broken feeds
};

}  // namespace phantomd
