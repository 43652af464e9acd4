// The whole way of one attempt through the engine (held, judged, counted), and what the engine does
// beside it: its housekeeping once a second and its Report.
#include <benchmark/benchmark.h>

#include <memory>
#include <random>

#include "agent/engine/engine.h"
#include "bench/cluster.h"
#include "tests/testing/allocation_count.h"

namespace phantomd::bench {
namespace {

// Reads recordings as phantomctl replay does.
std::unique_ptr<Engine> EngineOf(int pods, int proxies) {
  Header header;
  header.node_name = "n1";
  auto engine = std::make_unique<Engine>(header, At(1), Engine::Options{}, nullptr, nullptr);
  const auto tell = [&](double at, decltype(Input::value) value) {
    (void)engine->Replay({At(at), std::move(value)});
  };
  for (const Feed feed : {Feed::kPods, Feed::kSlices, Feed::kNodes}) {
    tell(10, FeedChange{feed, FeedState::kSynced});
  }
  for (int p = 0; p < proxies; ++p) tell(15, Proxy(p));
  for (int i = 0; i < pods; ++i) tell(20, Running(i));
  for (int s = 0; s < pods / kPodsOfService; ++s) tell(21, Slice(s, true));
  for (int p = 0; p < proxies; ++p) tell(30, Poll(p, pods, At(30)));
  return engine;
}

void Sizes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"pods", "proxies"});
  for (const int pods : {1'000, 10'000, 100'000}) bench->Args({pods, 100});
  for (const int proxies : {10, 1'000}) bench->Args({100'000, proxies});
}

// 20,000 attempts/s of recording time, polls every 15 s of each proxy.
void EngineLive(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(0)), proxies = static_cast<int>(state.range(1));
  const std::unique_ptr<Engine> engine = EngineOf(pods, proxies);
  std::mt19937 random(7);
  double now = 31;
  int polled = 0;
  double next_poll = now;
  uint64_t attempts = 0;
  const uint64_t before = testing::Allocations();
  for (auto _ : state) {
    now += 1.0 / 20'000;
    if (now >= next_poll) {
      (void)engine->Replay({At(now), Unchanged(polled, At(now))});
      polled = (polled + 1) % proxies;
      next_poll += 15.0 / proxies;
    }
    const int proxy = static_cast<int>(random() % static_cast<unsigned>(proxies));
    const int n = static_cast<int>(random() % static_cast<unsigned>(kEndpointsOfProxy));
    (void)engine->Replay({At(now), Connect(proxy, PodOfProxy(proxy, n, pods), At(now - 0.001),
                                           Outcome::kEstablished)});
    ++attempts;
  }
  state.SetItemsProcessed(static_cast<int64_t>(attempts));
  state.counters["allocations"] =
      static_cast<double>(testing::Allocations() - before) / static_cast<double>(attempts);
}
BENCHMARK(EngineLive)->Apply(Sizes);

// A rollout: a Service loses its pods, and everybody goes on connecting to them.
void EngineDead(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(0)), proxies = static_cast<int>(state.range(1));
  const std::unique_ptr<Engine> engine = EngineOf(pods, proxies);
  (void)engine->Replay({At(31), Slice(0, false)});
  for (int i = 0; i < kPodsOfService; ++i) {
    PodChange pod = Running(i);
    pod.deletion_requested = WallTime::FromNanos(At(31).nanos());
    pod.containers_finished = WallTime::FromNanos(At(32).nanos());
    pod.deleted = true;
    (void)engine->Replay({At(33), pod});
  }
  for (int p = 0; p < proxies; ++p) (void)engine->Replay({At(34), Unchanged(p, At(34))});
  double now = 40;
  int n = 0;
  for (auto _ : state) {
    now += 1.0 / 20'000;
    (void)engine->Replay(
        {At(now), Connect(0, n % kPodsOfService, At(now - 0.001), Outcome::kAbandoned)});
    ++n;
    if (n % 100'000 == 0) (void)engine->Replay({At(now), Unchanged(0, At(now))});
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(EngineDead)->ArgNames({"pods", "proxies"})->Args({10'000, 100})->Args({100'000, 100});

void RollOut(Engine& engine, int service, int pods, double at) {
  (void)engine.Replay({At(at), Slice(service, false)});
  for (int i = 0; i < kPodsOfService; ++i) {
    PodChange pod = Running((service * kPodsOfService + i) % pods);
    pod.deletion_requested = WallTime::FromNanos(At(at).nanos());
    (void)engine.Replay({At(at), pod});
    pod.containers_finished = WallTime::FromNanos(At(at).nanos());
    (void)engine.Replay({At(at), pod});
    pod.deleted = true;
    (void)engine.Replay({At(at), pod});
  }
}

std::unique_ptr<Engine> AfterRollouts(int rollouts, int proxies, double& now) {
  constexpr int kPods = 10'000;
  std::unique_ptr<Engine> engine = EngineOf(kPods, proxies);
  now = 100;
  for (int r = 0; r < rollouts; ++r) RollOut(*engine, r, kPods, now += 1);
  return engine;
}

// One second in which nothing happens, after so many rollouts of one Service each, of which every
// proxy still believes in its share.
void QuietSecond(benchmark::State& state) {
  double now = 0;
  const auto engine =
      AfterRollouts(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), now);
  for (auto _ : state) (void)engine->Replay({At(now += 1), ClockChange{}});
}
BENCHMARK(QuietSecond)
    ->ArgNames({"rollouts", "proxies"})
    ->Args({0, 100})
    ->Args({10, 100})
    ->Args({100, 100})
    ->Args({100, 10})
    ->Args({100, 1'000})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(20);

void MakeReport(benchmark::State& state) {
  double now = 0;
  const auto engine =
      AfterRollouts(static_cast<int>(state.range(0)), static_cast<int>(state.range(1)), now);
  (void)engine->Replay({At(now += 1), ClockChange{}});
  for (auto _ : state) benchmark::DoNotOptimize(engine->MakeReport());
}
BENCHMARK(MakeReport)
    ->ArgNames({"rollouts", "proxies"})
    ->Args({0, 100})
    ->Args({10, 100})
    ->Args({100, 100})
    ->Args({100, 1'000})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(5);

}  // namespace
}  // namespace phantomd::bench
