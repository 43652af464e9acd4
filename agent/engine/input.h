// Input: everything the engine is ever told, as one dated value.
//
// `observed` is when the agent learned it, stamped by the edge that did. The engine applies inputs
// in that order. The same values as in proto/phantom/v1/recording.proto; agent/wire/ converts.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/nouns.h"
#include "agent/belief/snapshot.h"
#include "agent/engine/restored.h"
#include "agent/lifecycle/changes.h"
#include "agent/verdict/attempt.h"

namespace phantomd {

// Everything that can change a verdict. Defaults are those of the flags of the same name.
struct Settings {
  Nanos judgement_delay =
      std::chrono::seconds(3);  // how long an attempt waits for news about its instant
  Nanos max_hold = std::chrono::seconds(60);             // longest wait for a poll or a missing end
  Nanos max_gap_hold = std::chrono::seconds(120);        // longest wait behind a broken feed
  Nanos feed_delay = std::chrono::seconds(2);            // how old news may be when it arrives
  Nanos typical_delay = std::chrono::milliseconds(100);  // how old news usually is
  Nanos clock_error = std::chrono::milliseconds(500);    // how far node clocks may be apart
  Nanos horizon = std::chrono::hours(6);                 // how far back the index answers
  std::string pod_scope = "cluster";                     // "cluster" or "endpointslices"
  std::vector<std::string> pod_cidrs;  // ranges of pod addresses, beside those that Nodes tell

  friend bool operator==(const Settings&, const Settings&) = default;
};

// Always the first input.
struct Header {
  static constexpr uint32_t kFormatVersion = 1;
  uint32_t format_version = kFormatVersion;
  WallOffset offset;  // at the start
  std::string node_name;
  std::string agent_version;
  Settings settings;

  friend bool operator==(const Header&, const Header&) = default;
};

struct ProxyChange {
  Proxy proxy;
  bool gone = false;

  friend bool operator==(const ProxyChange&, const ProxyChange&) = default;
};

// Observations that were lost before the engine saw them.
struct Loss {
  std::string what;  // "attempt", "connection_end", "belief", ...
  uint64_t count = 0;
  BootTime from;
  BootTime to;
  ProxyId proxy_id;  // where one proxy alone is affected
  bool count_unknown = false;

  friend bool operator==(const Loss&, const Loss&) = default;
};

// The wall clock was stepped or slewed away from the last offset.
struct ClockChange {
  WallOffset offset;

  friend bool operator==(const ClockChange&, const ClockChange&) = default;
};

struct Input {
  BootTime observed;
  std::variant<Header, ProxyChange, Attempt, ConnectionEnd, PodChange, SliceChange, FeedChange,
               BeliefSnapshot, Loss, NodeChange, PodEnd, ClockChange, Restored>
      value;

  friend bool operator==(const Input&, const Input&) = default;
};

}  // namespace phantomd
