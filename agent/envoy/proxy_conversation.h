// ProxyConversation is the order of requests that make one poll of one proxy, and what comes out.
//
//   /server_info            until the admin address is confirmed and the proxy's name is known
//   /config_dump            at the first poll, and at slow ones once a minute: all but layers and
//                           metadata leaves a trace in /clusters, too
//   /clusters               always; its bracket is the snapshot's
//   /config_dump            if /clusters shows what the last dump lacks; only the EDS part of it if
//                           all clusters are known (a quarter of the cost, or less)
//   /stats ..update_time    if the proxy keeps it and an EDS cluster's hosts changed
//
// A request that fails ends the poll with a failed snapshot; what was learned before stays, and the
// next snapshot is complete. There is never half a snapshot.
//
// Thread-compatible. No I/O: the owner fetches Next() and brings the reply.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "agent/base/nouns.h"
#include "agent/engine/input.h"
#include "agent/envoy/admin_client.h"
#include "agent/envoy/belief_builder.h"
#include "agent/envoy/poll_scheduler.h"
#include "agent/envoy/server_info.h"

namespace phantomd {

class ProxyConversation {
 public:
  // Candidates are tried in turn until one answers /server_info as an Envoy does.
  ProxyConversation(Proxy proxy, std::vector<SocketAddr> candidates);

  // The proxy as registered changed (its processes, its pod); what was learned is kept.
  void Update(Proxy proxy);

  void Begin(PollKind kind, BootTime now);

  struct Request {
    SocketAddr at;
    std::string path;
  };
  Request Next() const;  // between Begin() and the Outcome

  struct Outcome {
    std::optional<ProxyChange> identity;  // what /server_info told is new
    BeliefSnapshot snapshot;
    absl::Status status;     // of the poll
    bool poll_soon = false;  // the views differed: another poll will tell more
  };
  // Nothing: there is a Next() request. `received_wall` is the reply's receipt on the wall clock.
  std::optional<Outcome> OnReply(AdminReply reply, WallTime received_wall);

  // Whether an Envoy has ever answered.
  bool identified() const { return posted_.has_value(); }
  // What this proxy cannot tell, one sentence; empty: nothing is missing.
  std::string limitation() const;

 private:
  enum class Step { kServerInfo, kWholeDump, kClusters, kMissingDump, kMissingAssignments, kStats };
  enum class UpdateTimesKept { kUntold, kYes, kNo };

  std::optional<Outcome> OnServerInfo(const AdminReply& reply);
  std::optional<Outcome> OnDump(const AdminReply& reply);
  std::optional<Outcome> OnClusters(const AdminReply& reply, WallTime received_wall);
  std::optional<Outcome> OnStats(const AdminReply& reply);
  std::optional<Outcome> AskForStatsOrBuild();
  Outcome Build(const UpdateTimes& times);
  Outcome Fail(const absl::Status& status, BootTime received);
  std::optional<ProxyChange> TakeIdentity();

  Proxy registered_;
  std::vector<SocketAddr> candidates_;
  size_t candidate_ = 0;
  std::string refusals_;  // why the candidates before this one were not it
  std::optional<ServerInfo> info_;
  std::optional<Proxy> posted_;  // the identity that was last handed out
  BeliefBuilder builder_;
  BootTime dumped_;             // when the last whole dump was asked for; unset: never
  bool eds_mask_works_ = true;  // older releases may refuse the mask: then the whole dump is asked
  UpdateTimesKept update_times_ = UpdateTimesKept::kUntold;

  // Of the poll that is going on.
  PollKind kind_ = PollKind::kSlow;
  Step step_ = Step::kServerInfo;
  BootTime begun_;
  HostSets sets_;
  BeliefBuilder::Bracket bracket_;
};

// What /server_info tells of the registered proxy: name, role, version, admin address. Nothing
// else: of its processes only the edge that sees them tells.
Proxy Identify(const Proxy& registered, const ServerInfo& info, const SocketAddr& admin);

}  // namespace phantomd
