#include "agent/cmd/daemon/agent.h"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "agent/cmd/daemon/edges_health.h"
#include "agent/kube/api_feed.h"
#include "agent/kube/file_feed.h"

namespace phantomd {
namespace {

constexpr size_t kInboxRoom = 65'536;
constexpr size_t kTargetRoom = 256;
constexpr size_t kQuestionRoom = 64;
constexpr size_t kRecordingRoom = 65'536;
constexpr int kRoundMillis = 50;  // the ring is consumed this often, or when the kernel wakes us

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

// Waits for the next round. Edge-triggered: a ring that merely holds records is readable all the
// time; only the kernel's wake-ups (a ring that fills, a proxy that begins or ends) cut a wait
// short.
class RoundTimer {
 public:
  explicit RoundTimer(int wake_fd) : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event event{.events = EPOLLIN | EPOLLET};
    // Without it rounds only come at their usual pace.
    if (epoll_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_fd, &event) != 0) {
      spdlog::warn("the kernel cannot wake the agent early: {}", std::strerror(errno));
    }
  }
  ~RoundTimer() {
    if (epoll_ >= 0) close(epoll_);
  }
  RoundTimer(const RoundTimer&) = delete;
  RoundTimer& operator=(const RoundTimer&) = delete;

  void Wait() {
    if (epoll_ < 0) {
      poll(nullptr, 0, kRoundMillis);
      return;
    }
    epoll_event event;
    epoll_wait(epoll_, &event, 1, kRoundMillis);
  }

 private:
  const int epoll_;
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

// "127.0.0.1:0" -> "127.0.0.1:41237".
std::string WithPort(const std::string& address, int port) {
  return address.substr(0, address.rfind(':') + 1) + std::to_string(port);
}

}  // namespace

Agent::Agent(const Flags& flags)
    : flags_(flags),
      started_(clock_.Now()),
      header_(MakeHeader(flags, clock_)),
      inbox_(kInboxRoom),
      admin_targets_(kTargetRoom),
      questions_(kQuestionRoom),
      // The writer is there before the first input is applied, or not at all.
      engine_(
          header_, started_, Engine::Options(),
          [this](const Input& input) {
            if (writer_ != nullptr) writer_->inbox().Post(input);
          },
          Engine::JudgedSink()) {}

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
  ProbeOptions probe_options;
  probe_options.kernel.pin_dir = flags.pin_dir;
  auto probe = Probe::Start(probe_options, agent->started_);
  if (!probe.ok()) return probe.status();
  agent->probe_ = *std::move(probe);
  agent->report_.Set(agent->engine_.MakeReport());
  // The socket before the recording: a second agent must not empty the file of the first.
  if (absl::Status status = agent->StartServers(); !status.ok()) return status;
  if (absl::Status status = agent->StartRecording(); !status.ok()) return status;
  agent->StartEdges();
  agent->core_ = std::thread([a = agent.get()] { a->RunCore(); });
  return agent;
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

absl::Status Agent::StartRecording() {
  if (flags_.record.empty()) return absl::OkStatus();
  auto writer = RecordWriter::Create(flags_.record);
  if (!writer.ok()) return writer.status();
  recording_ = std::make_unique<RecordingSink>(*std::move(writer));
  writer_ = std::make_unique<WriterThread>(kRecordingRoom, std::vector<InputSink*>{&*recording_});
  // What the engine knows so far, header first; from here on it tells what it applies.
  engine_.Export([this](const Input& input) { writer_->inbox().Post(input); });
  return absl::OkStatus();
}

void Agent::StartEdges() {
  std::vector<std::unique_ptr<WatchSource>> sources;
  if (kube_access_ != nullptr) {
    const bool own_pods_alone = flags_.settings.pod_scope == "endpointslices";
    sources = ApiFeeds(own_pods_alone ? flags_.node_name : "", flags_.feed_probe_interval,
                       *kube_access_, clock_);
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
  CoreLoop loop(
      engine_, node, {inbox_, admin_targets_, questions_, demand_, report_, health_},
      [this] { envoy_->Wake(); }, [this] { return HealthOfEdges(); });
  RoundTimer timer(probe_->wake_fd());
  while (!stopping_) {
    loop.Step(clock_.Now());
    timer.Wait();
  }
  loop.Finish(clock_.Now());
  // Who asks from now on gets no answer: the promise breaks, and says so.
  questions_.Close();
  questions_.TakeAll();
}

AgentHealth Agent::HealthOfEdges() const {
  std::optional<RecorderState> recorder;
  if (writer_ != nullptr) recorder = {recording_->stats(), writer_->inbox().blocked()};
  return EdgesHealth(*kube_->stats(), *envoy_->stats(), recorder);
}

void Agent::Stop() {
  // The core goes on reading its mailbox while the edges post their last.
  if (kube_ != nullptr) kube_->Stop();
  if (envoy_ != nullptr) envoy_->Stop();
  stopping_ = true;
  if (core_.joinable()) core_.join();
  if (writer_ != nullptr) writer_->Stop();
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
