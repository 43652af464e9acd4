#include "tests/engine/random_scene.h"

#include <algorithm>
#include <random>
#include <set>

#include "fmt/format.h"

namespace phantomd::testing {
namespace {

class RandomCluster {
 public:
  explicit RandomCluster(uint64_t seed) : random_(seed), losses_(~seed) {}

  Scene Play() {
    // Short enough for some seeds to forget while the scene plays.
    if (Chance(0.5)) scene_.header.settings.horizon = std::chrono::seconds(45);
    scene_.At(Next(1)).Node("node-1", true, "10.0.0.0/25", "192.168.0.1");
    scene_.At(Next(1)).Node("node-2", true, "10.0.0.128/25", "192.168.0.2");
    scene_.At(Next(1)).FeedIs(Feed::kNodes, FeedState::kSynced);
    scene_.At(Next(1)).FeedIs(Feed::kPods, FeedState::kSynced);
    scene_.At(Next(1)).FeedIs(Feed::kSlices, FeedState::kSynced);
    for (const char* proxy : {"a", "b"}) {
      scene_.At(Next(1)).Runs(
          {proxy, fmt::format("10.0.0.10{}", proxy == std::string("a") ? 1 : 2), "webapp", "v1"});
      scene_.At(Next(1)).Proxy(proxy);
    }
    for (int i = 0; i < 4; ++i) Start(1);
    for (double t = 2; t < 140; t += 0.2) Step(t);
    return scene_;
  }

 private:
  struct Pod {
    std::string name, ip, service, node;
    bool ready = true, finished = false;
  };

  double Uniform() { return std::uniform_real_distribution<>(0, 1)(random_); }
  bool Chance(double p) { return Uniform() < p; }
  // Losses concern nobody else: they leave the rest of a seed's scene as it is without them.
  bool LossChance(double p) { return std::uniform_real_distribution<>(0, 1)(losses_) < p; }
  template <typename C>
  auto& Any(C& c) {
    return c[std::uniform_int_distribution<size_t>(0, c.size() - 1)(random_)];
  }
  // An instant after t that no other input has.
  double Next(double t) {
    t = std::max(t, last_) + 0.00001 + Uniform() * 0.002;
    return last_ = t;
  }

  void Start(double t) {
    std::vector<std::string> free;
    for (int i = 1; i <= 8; ++i) {
      const std::string ip = fmt::format("10.0.0.{}", i);
      const bool taken = std::any_of(pods_.begin(), pods_.end(),
                                     [&](const Pod& p) { return !p.finished && p.ip == ip; });
      if (!taken) free.push_back(ip);
    }
    if (free.empty()) return;
    Pod pod{fmt::format("pod-{}", ++started_), Any(free), Chance(0.7) ? "catalog" : "billing",
            Chance(0.7) ? "node-1" : "node-2"};
    scene_.At(Next(t)).Runs(
        {pod.name, pod.ip, pod.service, fmt::format("v{}", started_ / 4), pod.node});
    pods_.push_back(pod);
    TellSlice(t, pod.service);
  }

  void TellSlice(double t, const std::string& service) {
    std::vector<std::string> ready, terminating;
    for (const Pod& pod : pods_) {
      if (pod.service != service || pod.finished) continue;
      (pod.ready ? ready : terminating).push_back(pod.name);
    }
    scene_.At(Next(t)).Slice(service, ready, terminating);
    if (Chance(0.6)) assigned_[service] = Ips(service);
  }

  std::vector<std::string> Ips(const std::string& service) const {
    std::vector<std::string> ips;
    for (const Pod& pod : pods_) {
      if (pod.service == service && pod.ready) ips.push_back(pod.ip);
    }
    return ips;
  }

  void Step(double t) {
    if (t >= mend_at_) Mend(t);
    if (Chance(0.04)) Start(t);
    if (Chance(0.05) && !pods_.empty()) Leave(t, Any(pods_));
    if (Chance(0.1)) assigned_["catalog"] = Ips("catalog");
    if (Chance(0.1)) assigned_["billing"] = Ips("billing");
    if (Chance(0.3)) Poll(t, AnyProxy());
    if (Chance(0.01) && mend_at_ == kNever) BreakFeed(t);
    if (Chance(0.5)) Connect(t);
    if (Chance(0.1)) EndConnection(t);
    if (Chance(0.006)) LoseNode(t);
    if (Chance(0.01)) LosePolls(t, AnyProxy());
    if (LossChance(0.02)) LoseAttempts(t);
    if (Chance(0.004)) Restart(t);
    if (Chance(0.01)) SlewClock(t);
  }

  std::string AnyProxy() { return Chance(0.5) ? proxy_a_ : "b"; }

  void Leave(double t, Pod& pod) {
    if (pod.ready) {
      pod.ready = false;
      scene_.At(Next(t)).Terminates(pod.name);
      TellSlice(t, pod.service);
    } else if (!pod.finished) {
      pod.finished = true;
      scene_.At(Next(t)).Finishes(pod.name);
      if (Chance(0.5)) {
        const double seen = Next(t);
        scene_.At(seen).Ends(pod.name, seen - 0.1);
      }
      scene_.At(Next(t)).Deleted(pod.name);
      TellSlice(t, pod.service);
    }
  }

  void Poll(double t, const std::string& proxy) {
    if (Chance(0.05)) {
      scene_.At(Next(t)).PollFails(proxy, "timed out");
      return;
    }
    const double at = Next(t);
    Scene one;
    std::vector<PolledCluster> clusters;
    for (const auto& [service, ips] : assigned_) clusters.push_back({service, ips});
    one.At(at).Polled(proxy, clusters);
    Input input = one.Events()[0].input;
    auto& snapshot = std::get<BeliefSnapshot>(input.value);
    // Only what changed, now and then without a cluster that is gone.
    snapshot.complete = Chance(0.3) || !complete_.contains(proxy);
    complete_.insert(proxy);
    for (auto& cluster : snapshot.clusters) {
      for (auto& endpoint : cluster.endpoints) endpoint.connects = ++connects_;
    }
    if (!snapshot.complete && Chance(0.1)) {
      snapshot.removed_clusters = {snapshot.clusters.back().name};
      snapshot.clusters.pop_back();
    }
    scene_.Add(Edge::kEnvoy, std::move(input));
  }

  void LosePolls(double t, const std::string& proxy) {
    const double at = Next(t);
    scene_.Add(Edge::kEnvoy, {Seconds(at), Loss{.what = "belief",
                                                .count = 1,
                                                .from = Seconds(at - 1),
                                                .to = Seconds(at - 0.5),
                                                .proxy_id = Scene::ProxyIdOf(proxy)}});
    complete_.erase(proxy);
  }

  void LoseAttempts(double t) {
    const double at = t;
    scene_.Add(
        Edge::kProbe,
        {Seconds(at), Loss{.what = "attempt",
                           .count = 1 + restarts_ % 3u,
                           .from = Seconds(at - 0.2),
                           .to = Seconds(at - 0.1),
                           .proxy_id = LossChance(0.5) ? Scene::ProxyIdOf(proxy_a_) : ProxyId(),
                           .count_unknown = LossChance(0.2)}});
  }

  // Of proxy a, in the same pod: in its old container it keeps its identity, in a new one it has
  // another.
  void Restart(double t) {
    scene_.At(Next(t)).ProxyGone(proxy_a_);
    ++restarts_;
    if (Chance(0.5)) proxy_a_ = fmt::format("a-{}", restarts_);
    ProxyChange change;
    change.proxy.process_ids = {static_cast<uint32_t>(100 + restarts_)};
    change.proxy.id = Scene::ProxyIdOf(proxy_a_);
    change.proxy.pod.uid = Scene::UidOf("a");
    scene_.Add(Edge::kProbe, {Seconds(Next(t)), change});
  }

  void SlewClock(double t) {
    offset_ += Nanos(std::uniform_int_distribution<int64_t>(-2'000'000, 2'000'000)(random_));
    const WallOffset offset(scene_.header.offset.wall_minus_boot() + offset_);
    scene_.Add(Edge::kKube, {Seconds(Next(t)), ClockChange{offset}});
  }

  void BreakFeed(double t) {
    broken_ = Chance(0.5) ? Feed::kPods : Feed::kSlices;
    good_until_ = t - 0.5;
    scene_.At(Next(t)).FeedIs(broken_, FeedState::kBroken, good_until_);
    mend_at_ = t + Uniform() * 8;
  }

  // What the new list holds is told again; what it lacks went in the gap.
  void Mend(double t) {
    mend_at_ = kNever;
    if (broken_ == Feed::kPods) {
      for (Pod& pod : pods_) {
        if (pod.finished) continue;
        if (Chance(0.2)) {
          pod.finished = true;
          pod.ready = false;
          scene_.At(Next(t)).MissedDeletion(pod.name, good_until_);
        } else {
          scene_.At(Next(t)).Relisted(pod.name);
        }
      }
    }
    for (const char* service : {"catalog", "billing"}) TellSlice(t, service);
    scene_.At(Next(t)).FeedIs(broken_, FeedState::kSynced);
  }

  void LoseNode(double t) {
    node_2_ready_ = !node_2_ready_;
    scene_.At(Next(t)).Node("node-2", node_2_ready_, "10.0.0.128/25", "192.168.0.2");
  }

  void EndConnection(double t) {
    if (pods_.empty()) return;
    static const ConnectionEnd::How kHows[] = {
        ConnectionEnd::How::kClosed, ConnectionEnd::How::kReset, ConnectionEnd::How::kAborted,
        ConnectionEnd::How::kStalled, ConnectionEnd::How::kExpired};
    ConnectionEnd end;
    end.socket_cookie = 1'000'000 + static_cast<uint64_t>(Uniform() * 50);
    end.how = Any(kHows);
    end.proxy_id = Scene::ProxyIdOf(AnyProxy());
    end.initiator = Chance(0.9) ? Initiator::kProxy : Initiator::kIntercepted;
    end.destination = {Ip(Any(pods_).ip), Scene::kPort};
    const double at = Next(t);
    end.established = Seconds(std::max(1.5, at - Uniform() * 60));
    end.ended = Seconds(at - Uniform() * 0.1);
    scene_.Add(Edge::kProbe, {Seconds(at), end});
  }

  void Connect(double t) {
    static const Outcome kOutcomes[] = {Outcome::kEstablished, Outcome::kEstablished,
                                        Outcome::kRefused, Outcome::kAbandoned, Outcome::kTimedOut};
    const Outcome outcome = Any(kOutcomes);
    const double r = Uniform();
    const Initiator initiator = r < 0.8    ? Initiator::kProxy
                                : r < 0.9  ? Initiator::kApplication
                                : r < 0.95 ? Initiator::kIntercepted
                                           : Initiator::kProxyControl;
    const std::string ip = Chance(0.05) || pods_.empty() ? std::string("10.96.0.1") : Any(pods_).ip;
    // Few clients have no proxy that the agent knows.
    const std::string proxy = Chance(0.97) ? AnyProxy() : "nobody";
    scene_.At(Next(t)).Connects(proxy, ip, outcome, Uniform() * 1.5, initiator,
                                Chance(0.1) ? 1 : 0);
  }

  template <typename T, size_t N>
  const T& Any(const T (&list)[N]) {
    return list[std::uniform_int_distribution<size_t>(0, N - 1)(random_)];
  }

  static constexpr double kNever = 1e9;

  std::mt19937_64 random_;
  std::mt19937_64 losses_;
  Scene scene_;
  std::vector<Pod> pods_;
  std::map<std::string, std::vector<std::string>> assigned_;
  std::set<std::string> complete_;  // proxies that have told everything once
  std::string proxy_a_ = "a";
  Feed broken_ = Feed::kPods;
  double good_until_ = 0, mend_at_ = kNever;
  bool node_2_ready_ = true;
  Nanos offset_{0};
  uint64_t connects_ = 0;
  int started_ = 0, restarts_ = 0;
  double last_ = 0;
};

}  // namespace

Scene RandomScene(uint64_t seed) { return RandomCluster(seed).Play(); }

}  // namespace phantomd::testing
