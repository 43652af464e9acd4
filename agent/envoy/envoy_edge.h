// EnvoyEdge is the thread that polls the proxies' admin APIs.
//
// In: AdminChanges (which proxies there are) and the engine's PollDemand. Out: BeliefSnapshots,
// failed and refused polls among them, and ProxyChanges once /server_info told who a proxy is.
//
// Stamps and low marks: an input is stamped when it is posted, by the one thread that posts, so
// whatever comes later has a later stamp and "now" is a true low mark at any moment, also while a
// poll is under way. `received` of a snapshot may be a little earlier than its stamp: metadata may
// have been fetched in between. Requests never block the thread; only a full core mailbox does, and
// then there is nobody to read a mark. While it is full no poll is started, so that one proxy's
// changes coalesce into its next snapshot.
//
// Start() and Stop() from one thread; Wake() and stats() from any.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/base/clock.h"
#include "agent/base/mailbox.h"
#include "agent/base/published.h"
#include "agent/engine/edge_post.h"
#include "agent/engine/poll_demand.h"
#include "agent/envoy/admin_client.h"
#include "agent/envoy/admin_poll_stats.h"
#include "agent/envoy/admin_sockets.h"
#include "agent/envoy/admin_target.h"
#include "agent/envoy/poll_scheduler.h"
#include "agent/envoy/proxy_conversation.h"

namespace phantomd {

struct EnvoyEdgeOptions {
  AdminClientOptions client;
  PollPace pace;
  std::vector<uint16_t> admin_ports = {15000, 9901, 19000};  // where no bootstrap tells
  Nanos low_mark_interval = std::chrono::milliseconds(250);  // at most, and whenever woken
};

class EnvoyEdge {
 public:
  EnvoyEdge(EnvoyEdgeOptions options, const Clock& clock, AdminSocketsOf sockets_of,
            Mailbox<AdminChange>& targets, const Published<PollDemand>& demand,
            Mailbox<EdgePost>& core);
  ~EnvoyEdge();

  void Start();
  // Gives up what is under way, posts the last low mark and joins. If the core no longer reads its
  // mailbox, that must be closed before.
  void Stop();
  // A target or a demand was posted, or a low mark is wanted: look at once, and post one.
  void Wake();

  std::shared_ptr<const AdminPollStats> stats() const { return published_stats_.Get(); }

 private:
  struct Watched {
    AdminTarget target;
    std::unique_ptr<AdminSockets> sockets;
    std::optional<ProxyConversation> conversation;  // none until the admin address is known
    uint64_t token = 0;                             // of the request under way; 0: none
    Nanos served{0};                                // by the poll's requests so far
  };

  void Run();
  void TakeTargets();
  void TakeDemand();
  void Register(AdminTarget target);
  void Forget(const ProxyId& proxy);
  void StartPoll(const PollScheduler::Poll& poll);
  absl::Status OpenConversation(Watched& watched);
  void SendRequest(Watched& watched);
  void OnReply(AdminReply reply);
  void FinishPoll(Watched& watched, ProxyConversation::Outcome outcome);
  void PostFailure(const ProxyId& proxy, BootTime at, const absl::Status& status);
  void PostInput(decltype(Input::value) value);
  void PostLowMark(BootTime mark);
  void PublishStats();

  const EnvoyEdgeOptions options_;
  const Clock& clock_;
  const AdminSocketsOf sockets_of_;
  Mailbox<AdminChange>& targets_;
  const Published<PollDemand>& demand_;
  Mailbox<EdgePost>& core_;

  // Of the thread.
  AdminClient client_;
  PollScheduler scheduler_;
  std::map<ProxyId, Watched> watched_;
  std::map<uint64_t, ProxyId> requests_;
  uint64_t last_token_ = 0;
  std::shared_ptr<const PollDemand> seen_demand_;
  BootTime last_mark_ = BootTime::Min();
  bool mark_is_due_ = false;  // behind an input: it waits for no other edge then
  AdminPollStats stats_;
  bool stats_changed_ = false;

  Published<AdminPollStats> published_stats_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> woken_{false};
  std::thread thread_;
};

}  // namespace phantomd
