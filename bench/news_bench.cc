// What news costs, by the size of what is known: a pod's change, a slice of 50 endpoints, a poll;
// compaction; and the bytes that pods and beliefs take.
#include <benchmark/benchmark.h>

#include "agent/belief/belief.h"
#include "agent/lifecycle/lifecycle.h"
#include "bench/cluster.h"
#include "tests/testing/allocation_count.h"

namespace phantomd::bench {
namespace {

Lifecycle::Options Options() {
  return {.feed_delay = std::chrono::seconds(2),
          .typical_delay = std::chrono::milliseconds(100),
          .clock_error = std::chrono::milliseconds(500)};
}

void Sync(Lifecycle& index) {
  for (const Feed feed : {Feed::kPods, Feed::kSlices, Feed::kNodes}) {
    index.Apply(FeedChange{feed, FeedState::kSynced}, At(10));
  }
}

void Fill(Lifecycle& index, int from, int pods, double at) {
  for (int i = from; i < from + pods; ++i) index.Apply(Running(i), At(at));
  for (int s = from / kPodsOfService; s < (from + pods) / kPodsOfService; ++s) {
    index.Apply(Slice(s, true), At(at));
  }
}

// Deletion requested, finished, gone: three changes a pod, after their Service has dropped them.
void Empty(Lifecycle& index, int from, int pods, double at) {
  for (int s = from / kPodsOfService; s < (from + pods) / kPodsOfService; ++s) {
    index.Apply(Slice(s, false), At(at));
  }
  for (int i = from; i < from + pods; ++i) {
    PodChange pod = Running(i);
    pod.deletion_requested = WallTime::FromNanos(At(at).nanos());
    index.Apply(pod, At(at));
    pod.containers_finished = pod.deletion_requested;
    index.Apply(pod, At(at + 1));
    pod.deleted = true;
    index.Apply(pod, At(at + 1));
  }
}

void PodNews(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(0));
  Lifecycle index(Options(), WallOffset());
  Sync(index);
  Fill(index, 0, pods, 20);
  // A pod turns unready and ready: the commonest change.
  std::vector<PodChange> changes;
  for (int i = 0; i < 1024; ++i) changes.push_back(Running(i * 31 % pods));
  size_t n = 0;
  for (auto _ : state) {
    PodChange& change = changes[n & 1023];
    change.ready = !change.ready;
    index.Apply(change, At(100 + static_cast<double>(n++) * 1e-6));
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(PodNews)->ArgName("pods")->Arg(1'000)->Arg(10'000)->Arg(100'000);

void SliceNews(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(0));
  Lifecycle index(Options(), WallOffset());
  Sync(index);
  Fill(index, 0, pods, 20);
  std::vector<SliceChange> changes;
  for (int i = 0; i < 64; ++i) changes.push_back(Slice(i * 7 % (pods / kPodsOfService), true));
  size_t n = 0;
  for (auto _ : state) {
    SliceChange& change = changes[n & 63];
    SliceChange::Endpoint& endpoint = change.endpoints[n / 64 % kPodsOfService];
    endpoint.ready = !endpoint.ready;
    index.Apply(change, At(100 + static_cast<double>(n++) * 1e-6));
    // A Service's history is as long as the horizon; what is older goes.
    if (n % 100'000 == 0) {
      state.PauseTiming();
      index.Compact(At(99 + static_cast<double>(n) * 1e-6));
      state.ResumeTiming();
    }
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(SliceNews)->ArgName("pods")->Arg(1'000)->Arg(10'000)->Arg(100'000);

void PollUnchanged(benchmark::State& state) {
  const int proxies = static_cast<int>(state.range(0));
  Belief belief;
  for (int p = 0; p < proxies; ++p) belief.Apply(Poll(p, 100'000, At(20)));
  double now = 30;
  int next = 0;
  for (auto _ : state) {
    belief.Apply(Unchanged(next, At(now)));
    if (++next == proxies) next = 0, now += 0.05;
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(PollUnchanged)->ArgName("proxies")->Arg(10)->Arg(100)->Arg(1'000);

void PollComplete(benchmark::State& state) {
  const int proxies = static_cast<int>(state.range(0));
  Belief belief;
  std::vector<BeliefSnapshot> polls;
  for (int p = 0; p < proxies; ++p) polls.push_back(Poll(p, 100'000, At(20)));
  for (const BeliefSnapshot& poll : polls) belief.Apply(poll);
  double now = 30;
  size_t next = 0;
  for (auto _ : state) {
    BeliefSnapshot& poll = polls[next];
    poll.requested = At(now - 0.004);
    poll.received = At(now);
    belief.Apply(poll);
    if (++next == polls.size()) next = 0, now += 0.05;
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kEndpointsOfProxy);
}
BENCHMARK(PollComplete)->ArgName("proxies")->Arg(10)->Arg(100)->Arg(1'000);

// Compaction in a cluster at rest: nothing to forget but all to look at; and with a tenth of the
// pods replaced since the last one.
void CompactAtRest(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(0));
  Lifecycle index(Options(), WallOffset());
  Sync(index);
  Fill(index, 0, pods, 20);
  double horizon = 30;
  for (auto _ : state) index.Compact(At(horizon += 60));
}
BENCHMARK(CompactAtRest)
    ->ArgName("pods")
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond);

void CompactTombstones(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(0));
  Lifecycle index(Options(), WallOffset());
  Sync(index);
  Fill(index, 0, pods, 20);
  double now = 100;
  for (auto _ : state) {
    state.PauseTiming();
    Fill(index, pods, pods / 10, now);
    Empty(index, pods, pods / 10, now + 10);
    state.ResumeTiming();
    index.Compact(At(now += 60));
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * pods / 10);
}
BENCHMARK(CompactTombstones)
    ->ArgName("pods")
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

void CompactBelief(benchmark::State& state) {
  const int proxies = static_cast<int>(state.range(0));
  Belief belief;
  for (int p = 0; p < proxies; ++p) belief.Apply(Poll(p, 100'000, At(20)));
  double horizon = 100;
  for (auto _ : state) belief.Compact(At(horizon += 60));
}
BENCHMARK(CompactBelief)
    ->ArgName("proxies")
    ->Arg(10)
    ->Arg(100)
    ->Arg(1'000)
    ->Unit(benchmark::kMillisecond);

double Mebibytes(size_t bytes) { return static_cast<double>(bytes) / (1024 * 1024); }

// So many live pods and as many tombstones, each with an address of its own: the worst case.
void IndexMemory(benchmark::State& state) {
  const int pods = static_cast<int>(state.range(0));
  size_t bytes = 0;
  for (auto _ : state) {
    const size_t before = testing::BytesInUse();
    Lifecycle index(Options(), WallOffset());
    Sync(index);
    Fill(index, pods, pods, 20);
    Empty(index, pods, pods, 50);
    Fill(index, 0, pods, 60);
    bytes = testing::BytesInUse() - before;
  }
  state.counters["MiB"] = Mebibytes(bytes);
  state.counters["bytes_per_pod"] = static_cast<double>(bytes) / (2.0 * pods);
}
BENCHMARK(IndexMemory)
    ->ArgName("pods")
    ->Arg(1'000)
    ->Arg(10'000)
    ->Arg(100'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

void BeliefMemory(benchmark::State& state) {
  const int proxies = static_cast<int>(state.range(0));
  size_t bytes = 0;
  for (auto _ : state) {
    const size_t before = testing::BytesInUse();
    Belief belief;
    for (int p = 0; p < proxies; ++p) belief.Apply(Poll(p, 100'000, At(20)));
    bytes = testing::BytesInUse() - before;
  }
  state.counters["MiB"] = Mebibytes(bytes);
  state.counters["bytes_per_endpoint"] =
      static_cast<double>(bytes) / (static_cast<double>(proxies) * kEndpointsOfProxy);
}
BENCHMARK(BeliefMemory)
    ->ArgName("proxies")
    ->Arg(10)
    ->Arg(100)
    ->Arg(1'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace phantomd::bench
