#include "agent/cmd/daemon/agent.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <utility>

#include "agent/cmd/daemon/edges_health.h"
#include "agent/kube/api_feed.h"
#include "agent/kube/file_feed.h"

namespace phantomd {
namespace {

constexpr size_t kInboxRoom = 65'536;
constexpr size_t kTargetRoom = 256;
constexpr size_t kQuestionRoom = 64;
constexpr size_t kWriterRoom = 65'536;

class KernelSource final : public NodeSource {
 public:
  explicit KernelSource(Probe& probe) : probe_(probe) {}
  void Consume(BootTime now, const std::function<void(ProbeOutput)>& sink) override {
    probe_.Consume(now, sink);
  }
  void Finish(BootTime now, const std::function<void(ProbeOutput)>& sink) override {
    probe_.Finish(now, sink);
  }
  std::vector<std::string> Limitations() const override { return probe_.Limitations(); }
  std::vector<RecordBalance> Balances() const override { return probe_.Balances(); }

 private:
  Probe& probe_;
};

Header MakeHeader(const Flags& flags, const Clock& clock) {
  return {.offset = clock.Offset(),
          .node_name = flags.node_name,
          .agent_version = PHANTOMD_VERSION,
          .settings = flags.settings};
}

absl::StatusOr<std::unique_ptr<KubeAccess>> AccessOf(const Flags& flags, const Clock& clock) {
  if (!flags.kubeconfig.empty()) {
    return KubeconfigAccess(flags.kubeconfig, flags.kube_context, clock);
  }
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  return InClusterAccess(
      {.host = variable("KUBERNETES_SERVICE_HOST"), .port = variable("KUBERNETES_SERVICE_PORT")},
      clock);
}

double Seconds(Nanos span) { return std::chrono::duration<double>(span).count(); }

absl::StatusOr<StateOwner> OwnerOfState(const Flags& flags, const KubeAccess* access) {
  constexpr char kBootId[] = "/proc/sys/kernel/random/boot_id";
  StateOwner owner{.boot_id = {}, .node_name = flags.node_name, .feed = "none"};
  std::ifstream(kBootId) >> owner.boot_id;
  if (owner.boot_id.empty()) {
    return absl::UnavailableError(
        fmt::format("--state_dir: cannot read which boot this is: {}", kBootId));
  }
  if (access != nullptr) {
    owner.feed = fmt::format("{} pods by {}", flags.settings.pod_scope, access->description());
  }
  return owner;
}

// "127.0.0.1:0" -> "127.0.0.1:41237".
std::string WithPort(const std::string& address, int port) {
  return address.substr(0, address.rfind(':') + 1) + std::to_string(port);
}

}  // namespace

Agent::Agent(const Flags& flags)
    : flags_(flags),
      started_(clock_.Now()),
      header_(MakeHeader(flags, clock_)),
      inbox_(
          kInboxRoom, [this](const EdgePost& post) { return marks_.IsUrgent(post); },
          [this] { timer_.Wake(); }),
      admin_targets_(kTargetRoom),
      questions_(kQuestionRoom) {}

absl::StatusOr<std::unique_ptr<Agent>> Agent::Start(const Flags& flags) {
  if (geteuid() != 0) {
    return absl::PermissionDeniedError(
        fmt::format("phantomd needs root: it reads the kernel's records and enters the proxies' "
                    "network namespaces; this is user {}",
                    geteuid()));
  }
  std::unique_ptr<Agent> agent(new Agent(flags));
  if (flags.feed_kubernetes) {
    auto access = AccessOf(flags, agent->clock_);
    if (!access.ok()) return access.status();
    agent->kube_access_ = *std::move(access);
  }
  // The predecessor's parts are moved out of it from here on, the probe's first.
  if (absl::Status status = agent->StartEngine(); !status.ok()) return status;
  if (absl::Status status = agent->StartProbe(); !status.ok()) return status;
  agent->report_.Set(agent->engine_->MakeReport());
  // The socket before the recording: a second agent must not empty the file of the first.
  if (absl::Status status = agent->StartServers(); !status.ok()) return status;
  if (absl::Status status = agent->StartWriter(); !status.ok()) return status;
  agent->StartEdges();
  agent->core_ = std::thread([a = agent.get()] { a->RunCore(); });
  return agent;
}

std::unique_ptr<Engine> Agent::MakeEngine(const Header& header, BootTime started) {
  // The writer is there before the first input is applied, or not at all; what an engine takes over
  // is not told again.
  return std::make_unique<Engine>(
      header, started, Engine::Options(),
      [this](const Input& input) {
        if (writer_ != nullptr) writer_->inbox().Post(input);
      },
      Engine::JudgedSink());
}

absl::Status Agent::StartEngine() {
  if (flags_.state_dir.empty()) {
    engine_ = MakeEngine(header_, started_);
    return absl::OkStatus();
  }
  absl::StatusOr<StateOwner> owner = OwnerOfState(flags_, kube_access_.get());
  if (!owner.ok()) return owner.status();
  absl::StatusOr<OpenedState> opened =
      OpenState({.folder = flags_.state_dir,
                 .owner = *owner,
                 .header = header_,
                 .clock = &clock_,
                 .notice = 2 * (flags_.feed_probe_interval + Waits().at_most),
                 .make_engine = [this](const Header& header, BootTime started) {
                   return MakeEngine(header, started);
                 }});
  const StateSinkOptions options{.folder = flags_.state_dir, .owner = *owner};
  if (absl::IsResourceExhausted(opened.status())) {
    // Watching matters more than remembering.
    state_ = std::make_unique<StateSink>(options, opened.status(), clock_);
  } else if (!opened.ok()) {
    return opened.status();
  } else {
    predecessor_ = std::move(opened->predecessor);
    state_ = std::make_unique<StateSink>(options, std::move(opened->file), clock_);
  }
  if (!predecessor_.has_value()) {
    engine_ = MakeEngine(header_, started_);
    return absl::OkStatus();
  }
  engine_ = std::move(predecessor_->engine);
  spdlog::info("goes on from the state in {}, which ends {:.1f} s ago", flags_.state_dir,
               Seconds(clock_.Now() - predecessor_->until));
  // The first to be kept: an agent that is killed at once leaves no hole. The probe tells the rest.
  if (!predecessor_->proxies.empty() && (flags_.pin_dir.empty() || !predecessor_->ended)) {
    const BootTime until = predecessor_->until;
    const Loss outage{.what = "attempt",
                      .from = until - Probe::kToldLate,
                      .to = clock_.Now(),
                      .count_unknown = true};
    if (absl::Status told = engine_->Replay({until, outage}); !told.ok()) return told;
  }
  // Whoever looks back takes the clock of then for what was then. Dated to the end of what is kept:
  // until the outage has been told, what is kept must not reach beyond its beginning.
  return engine_->Replay({predecessor_->until, ClockChange{header_.offset}});
}

absl::Status Agent::StartProbe() {
  ProbeOptions options;
  options.kernel.pin_dir = flags_.pin_dir;
  if (predecessor_.has_value()) {
    options.predecessor = {.until = predecessor_->until,
                           .ended = predecessor_->ended,
                           .had_proxies = !predecessor_->proxies.empty()};
  }
  auto probe = Probe::Start(options, started_);
  if (!probe.ok()) return probe.status();
  probe_ = *std::move(probe);
  return absl::OkStatus();
}

absl::Status Agent::StartServers() {
  auto server = PhantomServer::Start({.listen = flags_.listen,
                                      .tls_cert = flags_.tls_cert,
                                      .tls_key = flags_.tls_key,
                                      .tls_client_ca = flags_.tls_client_ca},
                                     {report_, health_, questions_});
  if (!server.ok()) return server.status();
  server_ = *std::move(server);
  if (flags_.metrics_listen.empty()) return absl::OkStatus();
  auto metrics = MetricsServer::Start(flags_.metrics_listen, report_, health_);
  if (!metrics.ok()) return metrics.status();
  metrics_ = *std::move(metrics);
  return absl::OkStatus();
}

absl::Status Agent::StartWriter() {
  std::vector<InputSink*> sinks;
  if (!flags_.record.empty()) {
    auto writer = RecordWriter::Create(flags_.record);
    if (!writer.ok()) return writer.status();
    recording_ = std::make_unique<RecordingSink>(*std::move(writer));
    sinks.push_back(recording_.get());
  }
  if (state_ != nullptr) sinks.push_back(state_.get());
  if (sinks.empty()) return absl::OkStatus();
  writer_ = std::make_unique<WriterThread>(kWriterRoom, std::move(sinks), report_);
  // What the engine knows so far; from here on it tells what it applies.
  PostExport();
  return absl::OkStatus();
}

void Agent::PostExport() {
  writer_->inbox().Post(ExportMark::kBegin);
  engine_->Export([this](const Input& input) { writer_->inbox().Post(input); });
  writer_->inbox().Post(ExportMark::kEnd);
}

void Agent::StartEdges() {
  std::vector<std::unique_ptr<WatchSource>> sources;
  if (kube_access_ != nullptr) {
    const bool own_pods_alone = flags_.settings.pod_scope == "endpointslices";
    InheritedFeeds inherited;
    if (predecessor_.has_value()) inherited = std::move(predecessor_->feeds);
    sources = ApiFeeds(own_pods_alone ? flags_.node_name : "", flags_.feed_probe_interval,
                       *kube_access_, clock_, std::move(inherited));
  }
  for (const std::string& path : flags_.feed_files) {
    sources.push_back(std::make_unique<FileFeed>(FileFeed::Options{.path = path}, clock_));
  }
  kube_ = std::make_unique<KubeEdge>(
      std::make_unique<FeedLoop>(std::move(sources), header_.offset, clock_, inbox_), inbox_);
  envoy_ = std::make_unique<EnvoyEdge>(EnvoyEdgeOptions{.admin_ports = flags_.admin_ports}, clock_,
                                       SocketsOfProcess, admin_targets_, demand_, inbox_);
  envoy_->Start();
}

void Agent::RunCore() {
  KernelSource node(*probe_);
  CoreLoop loop(*engine_, node, {inbox_, admin_targets_, questions_, demand_, health_},
                {.wake_envoy =
                     [this] {
                       marks_.Await(Edge::kEnvoy);
                       envoy_->Wake();
                     },
                 .edges_health = [this] { return HealthOfEdges(); },
                 .show = [this](std::shared_ptr<const Report> report) { Show(std::move(report)); }},
                predecessor_.has_value() ? std::move(predecessor_->proxies) : std::set<ProxyId>());
  timer_.Watch(probe_->wake_fd());
  while (!stopping_) timer_.Wait(loop.Step(clock_.Now()));
  loop.Finish(clock_.Now());
  // Who asks from now on gets no answer: the promise breaks, and says so.
  questions_.Close();
  questions_.TakeAll();
}

void Agent::Show(std::shared_ptr<const Report> report) {
  if (state_ == nullptr) return report_.Set(std::move(report));
  // What a report says must survive the agent: it is shown once all that it rests on is kept, and
  // that no news came until then is part of it. What is judged at the end for want of time is not
  // shown: whoever goes on from here will know better.
  const bool rests_on_what_is_kept = engine_->MarkNow();
  if (stopping_ || !rests_on_what_is_kept) report = report_.Get();
  writer_->inbox().Post(std::move(report));
  if (state_->TakeWish()) PostExport();
}

AgentHealth Agent::HealthOfEdges() const {
  std::optional<RecordingStats> recording;
  if (recording_ != nullptr) recording = recording_->stats();
  AgentHealth health = EdgesHealth(*kube_->stats(), *envoy_->stats(), recording,
                                   state_ == nullptr ? "" : state_->stats().error);
  if (writer_ != nullptr) health.mailbox_blocked["writer"] = writer_->inbox().blocked();
  return health;
}

void Agent::Stop() {
  // The core goes on reading its mailbox while the edges post their last.
  if (kube_ != nullptr) kube_->Stop();
  if (envoy_ != nullptr) envoy_->Stop();
  stopping_ = true;
  timer_.Wake();
  const bool ran = core_.joinable();
  if (ran) core_.join();
  if (writer_ != nullptr) writer_->Stop();
  if (ran && state_ != nullptr) state_->End();
  metrics_.reset();
  server_.reset();
}

std::vector<std::string> Agent::Addresses() const {
  std::vector<std::string> out = flags_.listen;
  auto port = server_->ports().begin();
  for (std::string& address : out) {
    if (!address.starts_with("unix:")) address = WithPort(address, *port++);
  }
  return out;
}

std::string Agent::MetricsAddress() const {
  return metrics_ == nullptr ? "" : WithPort(flags_.metrics_listen, metrics_->port());
}

Agent::~Agent() { Stop(); }

}  // namespace phantomd
