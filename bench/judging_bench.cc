// The judge and what it reads: one verdict, one look-up in the index, one in the belief, by the
// number of pods indexed and of proxies. Counters: allocations per item, share of CERTAIN verdicts.
#include <benchmark/benchmark.h>

#include <memory>
#include <random>

#include "agent/verdict/verdict.h"
#include "bench/cluster.h"
#include "tests/testing/allocation_count.h"

namespace phantomd::bench {
namespace {

constexpr double kSyn = 1000;

struct World {
  World(int pods, int proxies)
      : lifecycle({.feed_delay = std::chrono::seconds(2),
                   .typical_delay = std::chrono::milliseconds(100),
                   .clock_error = std::chrono::milliseconds(500)},
                  WallOffset()) {
    for (const Feed feed : {Feed::kPods, Feed::kSlices, Feed::kNodes}) {
      lifecycle.Apply(FeedChange{feed, FeedState::kSynced}, At(10));
    }
    for (int i = 0; i < pods; ++i) lifecycle.Apply(Running(i), At(20));
    for (int s = 0; s < pods / kPodsOfService; ++s) lifecycle.Apply(Slice(s, true), At(21));
    for (int p = 0; p < proxies; ++p) {
      belief.Apply(Poll(p, pods, At(kSyn - 10)));
      belief.Apply(Unchanged(p, At(kSyn + 5)));
    }
  }
  Lifecycle lifecycle;
  Belief belief;
};

// Built once per size: building costs more than measuring.
World& WorldOf(int pods, int proxies) {
  static std::map<std::pair<int, int>, std::unique_ptr<World>> worlds;
  auto& world = worlds[{pods, proxies}];
  if (!world) {
    worlds.clear();
    return *(worlds[{pods, proxies}] = std::make_unique<World>(pods, proxies));
  }
  return *world;
}

// One connect and, as the engine's table of proxies names it, whose.
struct Made {
  Attempt attempt;
  const ProxyId* proxy;
};

std::vector<ProxyId> Ids(int proxies) {
  std::vector<ProxyId> ids;
  for (int p = 0; p < proxies; ++p) ids.push_back(ProxyOf(p));
  return ids;
}

// Connects as they come: any proxy to any of its endpoints.
std::vector<Made> Connects(const std::vector<ProxyId>& ids, int pods, Outcome outcome) {
  std::mt19937 random(7);
  std::vector<Made> made;
  for (int i = 0; i < (1 << 16); ++i) {
    const size_t proxy = random() % ids.size();
    const int n = static_cast<int>(random() % static_cast<unsigned>(kEndpointsOfProxy));
    const int number = static_cast<int>(proxy);
    made.push_back({Connect(number, PodOfProxy(number, n, pods), At(kSyn), outcome), &ids[proxy]});
    made.back().attempt.proxy_id = ProxyId();  // the kernel's record knows a namespace, no name
  }
  return made;
}

void Sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"pods", "proxies"});
  for (const int pods : {1'000, 10'000, 100'000}) {
    for (const int proxies : {10, 100, 1'000}) bench->Args({pods, proxies});
  }
}

class PerItem {
 public:
  explicit PerItem(benchmark::State& state) : state_(state), before_(testing::Allocations()) {}
  ~PerItem() {
    state_.SetItemsProcessed(static_cast<int64_t>(state_.iterations()));
    state_.counters["allocations"] = static_cast<double>(testing::Allocations() - before_) /
                                     static_cast<double>(state_.iterations());
  }

 private:
  benchmark::State& state_;
  const uint64_t before_;
};

void JudgeLive(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(0)), proxies = static_cast<int>(state.range(1));
  const World& world = WorldOf(pods, proxies);
  const std::vector<ProxyId> ids = Ids(proxies);
  const std::vector<Made> made = Connects(ids, pods, Outcome::kEstablished);
  size_t next = 0, certain = 0;
  {
    const PerItem count(state);
    for (auto _ : state) {
      const Made& connect = made[next++ & 0xffff];
      const Judgement judgement =
          Judge(connect.attempt, *connect.proxy, world.lifecycle, world.belief, {});
      certain += judgement.verdict.destination == DestinationClass::kLive &&
                 judgement.verdict.certainty == Certainty::kCertain;
    }
  }
  state.counters["certain"] =
      static_cast<double>(certain) / static_cast<double>(state.iterations());
}
BENCHMARK(JudgeLive)->Apply(Sizes);

void IndexLookUp(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(0));
  const World& world = WorldOf(pods, 10);
  std::mt19937 random(7);
  const PerItem count(state);
  for (auto _ : state) {
    const int pod = static_cast<int>(random() % static_cast<unsigned>(pods));
    benchmark::DoNotOptimize(world.lifecycle.At(IpOf(pod), At(kSyn)));
  }
}
BENCHMARK(IndexLookUp)->ArgName("pods")->Arg(1'000)->Arg(10'000)->Arg(100'000);

void BeliefLookUp(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(0)), proxies = static_cast<int>(state.range(1));
  const World& world = WorldOf(pods, proxies);
  const std::vector<ProxyId> ids = Ids(proxies);
  const std::vector<Made> made = Connects(ids, pods, Outcome::kEstablished);
  size_t next = 0;
  const PerItem count(state);
  for (auto _ : state) {
    const Made& connect = made[next++ & 0xffff];
    benchmark::DoNotOptimize(
        world.belief.At(*connect.proxy, connect.attempt.destination, connect.attempt.started));
  }
}
BENCHMARK(BeliefLookUp)->Apply(Sizes);

}  // namespace
}  // namespace phantomd::bench
