// Agent: all of phantomd, wired together: the edges with their threads, the core thread, the
// servers, the recording and the state that it leaves to its successor.
//
// Stop() ends them in the order in which nothing is lost: the edges first, then the core, which
// judges what is left, then the writer, which flushes it, and the servers last.
//
// Owned by one thread, which starts and stops it.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/base/clock.h"
#include "agent/cmd/daemon/core_loop.h"
#include "agent/cmd/daemon/flags.h"
#include "agent/cmd/daemon/news_marks.h"
#include "agent/cmd/daemon/predecessor.h"
#include "agent/cmd/daemon/round_timer.h"
#include "agent/cmd/daemon/writer_thread.h"
#include "agent/envoy/envoy_edge.h"
#include "agent/kube/kube_access.h"
#include "agent/kube/kube_edge.h"
#include "agent/recording/recording_sink.h"
#include "agent/serve/metrics_server.h"
#include "agent/serve/server.h"
#include "agent/store/state_sink.h"

namespace phantomd {

class Agent {
 public:
  // One clear sentence about what is missing: a privilege, a kernel feature, an address, a file.
  static absl::StatusOr<std::unique_ptr<Agent>> Start(const Flags& flags);
  ~Agent();
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  void Stop();

  // Where it can be asked, as the flags say it but with the port that the system chose for port 0.
  std::vector<std::string> Addresses() const;
  std::string MetricsAddress() const;  // empty: nowhere

 private:
  explicit Agent(const Flags& flags);
  std::unique_ptr<Engine> MakeEngine(const Header& header, BootTime started);
  // Takes over from the agent before, where its state is kept.
  absl::Status StartEngine();
  absl::Status StartProbe();
  absl::Status StartServers();
  absl::Status StartWriter();
  void PostExport();
  void StartEdges();
  void RunCore();
  void Show(std::shared_ptr<const Report> report);
  AgentHealth HealthOfEdges() const;

  const Flags flags_;
  const SystemClock clock_;
  const BootTime started_;
  const Header header_;

  // Between the threads.
  RoundTimer timer_;
  NewsMarks marks_;
  Mailbox<EdgePost> inbox_;
  Mailbox<AdminChange> admin_targets_;
  ExplainQuestions questions_;
  Published<PollDemand> demand_;
  Published<Report> report_;
  Published<AgentHealth> health_;
  std::atomic<bool> stopping_{false};

  // Null without --record or --state_dir; the thread without both.
  std::unique_ptr<RecordingSink> recording_;
  std::unique_ptr<StateSink> state_;
  std::unique_ptr<WriterThread> writer_;
  std::optional<Predecessor> predecessor_;  // its parts go to whoever goes on from them

  // Of the core thread, once it runs.
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Probe> probe_;

  std::unique_ptr<PhantomServer> server_;
  std::unique_ptr<MetricsServer> metrics_;
  std::unique_ptr<EnvoyEdge> envoy_;
  std::unique_ptr<KubeAccess> kube_access_;  // none: no feed from an API server
  std::unique_ptr<KubeEdge> kube_;
  std::thread core_;
};

}  // namespace phantomd
