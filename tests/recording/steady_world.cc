#include "tests/recording/steady_world.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <queue>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace phantomd::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kServices = 60;
constexpr int kPodsOfService = 3;
constexpr int kProxies = 8;
constexpr int kNodes = 4;
constexpr uint16_t kPort = 8080;
constexpr Nanos kBetweenAttempts = milliseconds(1);

class SteadyWorld {
 public:
  explicit SteadyWorld(const std::function<void(const Input&)>& sink) : sink_(sink) {}

  uint64_t Play(uint64_t attempts) {
    Begin();
    uint64_t judged = 0;
    for (uint64_t i = 0; i < attempts; ++i) {
      now_ += kBetweenAttempts;
      while (!plans_.empty() && plans_.top().at <= now_) {
        const Plan plan = plans_.top();
        plans_.pop();
        plan.act();
      }
      judged += Connect() ? 1 : 0;
      Flush(now_);
    }
    Flush(BootTime::Max());
    return judged;
  }

 private:
  struct Pod {
    PodChange change;
    bool alive = true;
  };
  struct Service {
    std::string name;
    int revision = 0;
    std::vector<std::shared_ptr<Pod>> pods;
  };
  struct ProxyState {
    ProxyId id;
    int incarnation = 0;
    std::vector<std::vector<std::shared_ptr<Pod>>> believes;  // by Service
  };
  struct Plan {
    BootTime at;
    uint64_t number;
    std::function<void()> act;
    bool operator<(const Plan& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };
  struct Waiting {
    uint64_t number;
    Input input;
    bool operator<(const Waiting& other) const {
      return input.observed != other.input.observed ? input.observed > other.input.observed
                                                    : number > other.number;
    }
  };

  uint64_t Below(uint64_t n) { return random_() % n; }
  void After(Nanos delay, std::function<void()> act) {
    plans_.push({now_ + delay, ++number_, std::move(act)});
  }
  void Tell(decltype(Input::value) value) { TellAt(now_, std::move(value)); }
  void TellAt(BootTime at, decltype(Input::value) value) {
    waiting_.push({++number_, {at, std::move(value)}});
  }
  void Flush(BootTime until) {
    while (!waiting_.empty() && waiting_.top().input.observed <= until) {
      sink_(waiting_.top().input);
      waiting_.pop();
    }
  }
  WallTime WallSecond() const {
    const int64_t nanos = offset_.ToWall(now_).nanos();
    return WallTime::FromNanos(nanos - nanos % 1'000'000'000);
  }

  void Begin() {
    Header header;
    header.offset = offset_;
    header.node_name = "node-0";
    header.agent_version = "steady";
    header.settings.horizon = seconds(60);
    sink_({now_, header});
    for (int i = 1; i <= 250; ++i) free_.push_back(IpAddr::V4(10, 1, 0, static_cast<uint8_t>(i)));
    for (int i = 0; i < kNodes; ++i) {
      Tell(NodeChange{.name = fmt::format("node-{}", i),
                      .ready = true,
                      .last_heartbeat = WallSecond(),
                      .addresses = {IpAddr::V4(192, 168, 0, static_cast<uint8_t>(i + 1))},
                      .pod_cidrs = {"10.1.0.0/24"}});
    }
    services_.resize(kServices);
    for (int s = 0; s < kServices; ++s) {
      services_[s].name = fmt::format("service-{}", s);
      for (int i = 0; i < kPodsOfService; ++i) Start(s);
      TellSlice(s);
    }
    for (const Feed feed : {Feed::kNodes, Feed::kPods, Feed::kSlices}) {
      Tell(FeedChange{feed, FeedState::kSynced});
    }
    proxies_.resize(kProxies);
    for (int p = 0; p < kProxies; ++p) StartProxy(p);
    After(seconds(5), [this] { Roll(0); });
    After(seconds(20), [this] { RestartProxy(0); });
    After(seconds(45), [this] { RenameService(0); });
    After(seconds(70), [this] { BreakWatch(); });
  }

  // --- Pods and slices ---
  void Start(int s) {
    Service& service = services_[s];
    auto pod = std::make_shared<Pod>();
    const uint64_t n = ++pods_started_;
    PodChange& change = pod->change;
    change.pod = {.uid = PodUid(fmt::format("{:08x}-5a1e-4000-8000-{:012x}", n, n * 7919)),
                  .ns = "shop",
                  .name = fmt::format("{}-{}-{:x}", service.name, service.revision, n),
                  .workload = {"shop", "Deployment", service.name},
                  .revision = fmt::format("{:x}", service.revision + 0x5b6d00),
                  .node_name = fmt::format("node-{}", n % kNodes)};
    change.ips = {free_.front()};
    free_.pop_front();
    change.phase = PodPhase::kRunning;
    change.ready = true;
    change.created = WallSecond();
    Tell(change);
    service.pods.push_back(std::move(pod));
  }

  void TellSlice(int s) {
    const Service& service = services_[s];
    SliceChange slice{.ns = "shop", .name = service.name + "-1", .service = service.name};
    slice.ports = {{"http", kPort}};
    for (const auto& pod : service.pods) {
      slice.endpoints.push_back({.addresses = pod->change.ips, .pod_uid = pod->change.pod.uid});
    }
    Tell(std::move(slice));
  }

  // All pods of the Service are replaced; the next Service follows.
  void Roll(int s) {
    Service& service = services_[s];
    ++service.revision;
    const std::vector<std::shared_ptr<Pod>> old = std::exchange(service.pods, {});
    for (int i = 0; i < kPodsOfService; ++i) Start(s);
    for (const auto& pod : old) {
      pod->change.deletion_requested = WallSecond();
      Tell(pod->change);
    }
    TellSlice(s);
    for (int p = 0; p < kProxies; ++p) {
      After(milliseconds(200 + Below(1500)), [this, p, s] { Push(p, s); });
    }
    After(milliseconds(800 + Below(600)), [this, old] { Die(old); });
    After(seconds(5), [this, s] { Roll((s + 1) % kServices); });
  }

  void Die(const std::vector<std::shared_ptr<Pod>>& pods) {
    for (const auto& pod : pods) {
      pod->alive = false;
      pod->change.ready = false;
      pod->change.containers_finished = WallSecond();
      const PodChange finished = pod->change;
      pod->change.deleted = true;
      TellAt(now_ + milliseconds(200), finished);
      TellAt(now_ + milliseconds(400), pod->change);
      After(seconds(2), [this, ip = pod->change.ips[0]] { free_.push_back(ip); });
      if (Below(2) == 0) Strand(pod->change.ips[0]);
    }
  }

  void Strand(const IpAddr& ip) {
    ConnectionEnd end;
    end.socket_cookie = ++cookie_;
    end.how = ConnectionEnd::How::kReset;
    end.proxy_id = proxies_[Below(kProxies)].id;
    end.initiator = Initiator::kProxy;
    end.destination = {ip, kPort};
    end.established = now_ - milliseconds(1500);
    end.ended = now_ + seconds(3);
    TellAt(end.ended + milliseconds(5), end);
  }

  // The Service gets another name, and so do the Deployment and the pods that follow.
  void RenameService(int s) {
    SliceChange gone{.ns = "shop", .name = services_[s].name + "-1", .service = services_[s].name};
    gone.deleted = true;
    services_[s].name = fmt::format("service-{}-{}", s, ++renamed_);
    TellSlice(s);
    Tell(std::move(gone));
    After(seconds(45), [this, s] { RenameService((s + 1) % kServices); });
  }

  void BreakWatch() {
    Tell(FeedChange{Feed::kPods, FeedState::kBroken, now_ - milliseconds(100)});
    After(milliseconds(1500), [this] {
      for (const Service& service : services_) {
        for (const auto& pod : service.pods) Tell(pod->change);
      }
      Tell(FeedChange{Feed::kPods, FeedState::kSynced});
    });
    After(seconds(70), [this] { BreakWatch(); });
  }

  // --- Proxies ---
  void StartProxy(int p) {
    ProxyState& proxy = proxies_[p];
    proxy.id = ProxyId(fmt::format("webapp-{}/{}", p, ++proxy.incarnation));
    proxy.believes.clear();
    for (const Service& service : services_) proxy.believes.push_back(service.pods);
    ProxyChange change;
    change.proxy.id = proxy.id;
    change.proxy.role = ProxyRole::kSidecar;
    change.proxy.pod = {.uid = PodUid(fmt::format("webapp-uid-{}", p)),
                        .ns = "shop",
                        .name = fmt::format("webapp-{}", p),
                        .workload = {"shop", "Deployment", "webapp"}};
    Tell(change);
    Poll(p, proxy.incarnation);
  }

  void RestartProxy(int p) {
    ProxyChange gone;
    gone.proxy.id = proxies_[p].id;
    gone.gone = true;
    Tell(gone);
    After(milliseconds(300), [this, p] { StartProxy(p); });
    After(seconds(20), [this, p] { RestartProxy((p + 1) % kProxies); });
  }

  BeliefSnapshot::Cluster ClusterOf(const ProxyState& proxy, int s) {
    BeliefSnapshot::Cluster cluster;
    cluster.name = fmt::format("outbound|8080||{}.shop.svc.cluster.local", services_[s].name);
    cluster.service = "shop/" + services_[s].name;
    cluster.discovery = Discovery::kEds;
    cluster.layer = Layer::kL4;
    for (const auto& pod : proxy.believes[static_cast<size_t>(s)]) {
      cluster.endpoints.push_back({.address = {pod->change.ips[0], kPort},
                                   .in_assignment = true,
                                   .in_host_set = true,
                                   .connects = ++connects_});
    }
    return cluster;
  }

  BeliefSnapshot Snapshot(int p) {
    BeliefSnapshot snapshot;
    snapshot.proxy_id = proxies_[p].id;
    snapshot.requested = now_ - milliseconds(3);
    snapshot.received = now_;
    return snapshot;
  }

  // Every 15 s, of everything.
  void Poll(int p, int incarnation) {
    if (proxies_[p].incarnation != incarnation) return;
    BeliefSnapshot snapshot = Snapshot(p);
    snapshot.complete = true;
    for (int s = 0; s < kServices; ++s) snapshot.clusters.push_back(ClusterOf(proxies_[p], s));
    Tell(std::move(snapshot));
    After(seconds(15), [this, p, incarnation] { Poll(p, incarnation); });
  }

  // The control plane tells this proxy of the Service, and a fast poll sees it.
  void Push(int p, int s) {
    proxies_[p].believes[static_cast<size_t>(s)] = services_[s].pods;
    After(milliseconds(30), [this, p, s] {
      BeliefSnapshot snapshot = Snapshot(p);
      snapshot.clusters.push_back(ClusterOf(proxies_[p], s));
      Tell(std::move(snapshot));
    });
  }

  // --- Connections ---
  // Whether it is one that is judged.
  bool Connect() {
    const ProxyState& proxy = proxies_[Below(kProxies)];
    const auto& hosts = proxy.believes[Below(kServices)];
    const Pod& pod = *hosts[Below(hosts.size())];
    Attempt attempt;
    attempt.proxy_id = proxy.id;
    attempt.initiator = Below(50) == 0 ? Initiator::kIntercepted : Initiator::kProxy;
    attempt.source = {IpAddr::V4(10, 2, 0, 1), static_cast<uint16_t>(20'000 + cookie_ % 40'000)};
    attempt.destination = {pod.change.ips[0], kPort};
    attempt.started = now_;
    attempt.outcome = pod.alive ? Outcome::kEstablished : Outcome::kAbandoned;
    attempt.ended = now_ + (pod.alive ? milliseconds(1) : milliseconds(1000));
    attempt.socket_cookie = ++cookie_;
    TellAt(attempt.ended + milliseconds(5), attempt);
    return attempt.initiator == Initiator::kProxy;
  }

  const std::function<void(const Input&)>& sink_;
  const WallOffset offset_{seconds(1'800'000'000)};
  BootTime now_ = BootTime::FromNanos(1'000'000'000);
  std::mt19937_64 random_{1};
  std::priority_queue<Plan> plans_;
  std::priority_queue<Waiting> waiting_;
  std::vector<Service> services_;
  std::vector<ProxyState> proxies_;
  std::deque<IpAddr> free_;
  uint64_t number_ = 0, pods_started_ = 0, cookie_ = 0, connects_ = 0;
  int renamed_ = 0;
};

}  // namespace

uint64_t PlaySteadyWorld(uint64_t attempts, const std::function<void(const Input&)>& sink) {
  return SteadyWorld(sink).Play(attempts);
}

}  // namespace phantomd::testing
