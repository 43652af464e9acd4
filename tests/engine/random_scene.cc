#include "tests/engine/random_scene.h"

#include <algorithm>
#include <random>
#include <set>

#include "fmt/format.h"

namespace phantomd::testing {
namespace {

class RandomCluster {
 public:
  explicit RandomCluster(uint64_t seed) : random_(seed) {}

  Scene Play() {
    scene_.At(Next(1)).Node("node-1", true, "10.0.0.0/24", "192.168.0.1");
    scene_.At(Next(1)).FeedIs(Feed::kNodes, FeedState::kSynced);
    scene_.At(Next(1)).FeedIs(Feed::kPods, FeedState::kSynced);
    scene_.At(Next(1)).FeedIs(Feed::kSlices, FeedState::kSynced);
    for (const char* proxy : {"a", "b"}) scene_.At(Next(1)).Proxy(proxy);
    for (int i = 0; i < 4; ++i) Start(1);
    for (double t = 2; t < 90; t += 0.2) Step(t);
    return scene_;
  }

 private:
  struct Pod {
    std::string name, ip, service;
    bool ready = true, finished = false;
  };

  double Uniform() { return std::uniform_real_distribution<>(0, 1)(random_); }
  bool Chance(double p) { return Uniform() < p; }
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
    Pod pod{fmt::format("pod-{}", ++started_), Any(free), Chance(0.7) ? "catalog" : "billing"};
    scene_.At(Next(t)).Runs({pod.name, pod.ip, pod.service, fmt::format("v{}", started_ / 4)});
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
    if (Chance(0.04)) Start(t);
    if (Chance(0.05) && !pods_.empty()) Leave(t, Any(pods_));
    if (Chance(0.1)) assigned_["catalog"] = Ips("catalog");
    if (Chance(0.1)) assigned_["billing"] = Ips("billing");
    if (Chance(0.3)) Poll(t, Chance(0.5) ? "a" : "b");
    if (Chance(0.01)) BreakFeed(t);
    if (Chance(0.5)) Connect(t);
  }

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
    std::vector<PolledCluster> clusters;
    for (const auto& [service, ips] : assigned_) clusters.push_back({service, ips});
    scene_.At(Next(t)).Polled(proxy, clusters);
  }

  void BreakFeed(double t) {
    const Feed feed = Chance(0.5) ? Feed::kPods : Feed::kSlices;
    scene_.At(Next(t)).FeedIs(feed, FeedState::kBroken, t - 0.5);
    scene_.At(Next(t + 1)).FeedIs(feed, FeedState::kSynced);
  }

  void Connect(double t) {
    static const Outcome kOutcomes[] = {Outcome::kEstablished, Outcome::kEstablished,
                                        Outcome::kRefused, Outcome::kAbandoned, Outcome::kTimedOut};
    const Outcome outcome = Any(kOutcomes);
    const double r = Uniform();
    const Initiator initiator = r < 0.8   ? Initiator::kProxy
                                : r < 0.9 ? Initiator::kApplication
                                          : Initiator::kProxyControl;
    const std::string ip =
        Chance(0.95) ? fmt::format("10.0.0.{}", 1 + started_ % 8) : std::string("10.96.0.1");
    scene_.At(Next(t)).Connects(Chance(0.5) ? "a" : "b", ip, outcome, Uniform() * 1.5, initiator,
                                Chance(0.1) ? 1 : 0);
  }

  template <size_t N>
  const Outcome& Any(const Outcome (&list)[N]) {
    return list[std::uniform_int_distribution<size_t>(0, N - 1)(random_)];
  }

  std::mt19937_64 random_;
  Scene scene_;
  std::vector<Pod> pods_;
  std::map<std::string, std::vector<std::string>> assigned_;
  int started_ = 0;
  double last_ = 0;
};

}  // namespace

Scene RandomScene(uint64_t seed) { return RandomCluster(seed).Play(); }

}  // namespace phantomd::testing
