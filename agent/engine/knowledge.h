// Knowledge: what the engine knows, as the parts that build its answers read it.
//
// Borrowed, valid during one call. Thread-compatible: for the engine's own thread alone.
#pragma once

#include <map>
#include <set>
#include <string>

#include "agent/belief/belief.h"
#include "agent/engine/attempt_judge.h"
#include "agent/engine/clock_history.h"
#include "agent/engine/end_queue.h"
#include "agent/engine/held_queue.h"
#include "agent/engine/input.h"
#include "agent/engine/loss_periods.h"
#include "agent/engine/poll_planner.h"
#include "agent/engine/proxy_table.h"
#include "agent/ledger/ledger.h"
#include "agent/lifecycle/lifecycle.h"

namespace phantomd {

struct Knowledge {
  const Header& header;
  WallOffset offset;
  const ClockHistory& clock;
  BootTime started;
  BootTime now;
  const Lifecycle& lifecycle;
  const Belief& belief;
  const Ledger& ledger;
  const ProxyTable& proxies;
  const PollPlanner& planner;
  const AttemptJudge& judge;
  const HeldQueue& held;
  const EndQueue& ends;
  const std::map<std::string, uint64_t>& lost;
  const LossPeriods& losses;
  std::map<Feed, FeedTotals> feeds;
  const std::map<std::string, uint64_t>& late;
  const std::set<PodHandle>& departed;  // pods that connections were counted for
};

}  // namespace phantomd
