// What 100,000 live pods and as many tombstones weigh, and that asking costs no allocation.
#include <gtest/gtest.h>

#include "agent/lifecycle/lifecycle.h"
#include "fmt/format.h"
#include "tests/lifecycle/story.h"
#include "tests/testing/allocation_count.h"

namespace phantomd::testing {
namespace {

constexpr int kPods = 25'000;

IpAddr IpOf(int number) {
  return IpAddr::V4(10, static_cast<uint8_t>(number >> 16), static_cast<uint8_t>(number >> 8),
                    static_cast<uint8_t>(number));
}

// 500 workloads of 50 pods on 1,000 Nodes, named as a Deployment names them.
PodChange PodOf(int number) {
  const int workload = number / 50 % 500;
  const std::string name = fmt::format("catalog-{:04}", workload);
  const std::string hash = fmt::format("{:x}", 0x5d8f7c0000 + workload * 16 + number / kPods);
  PodChange pod;
  pod.pod = {.uid = PodUid(fmt::format("{:08x}-52d1-4e6b-9c3a-{:012x}", number * 2654435761u,
                                       static_cast<uint64_t>(number))),
             .ns = fmt::format("team-{}", workload % 100),
             .name = fmt::format("{}-{}-{:05x}", name, hash, number),
             .workload = {fmt::format("team-{}", workload % 100), "Deployment", name},
             .revision = hash,
             .node_name = fmt::format("ip-10-0-{}-{}.eu-central-1.compute.internal",
                                      number % 1000 / 250, number % 250)};
  pod.ips = {IpOf(number)};
  pod.phase = PodPhase::kRunning;
  pod.ready = true;
  pod.created = WallTime::FromNanos(At(15).nanos());
  return pod;
}

// Of the 50 pods from `number` on; empty once they are not listed.
SliceChange SliceOf(int number, bool listed) {
  const PodChange first = PodOf(number);
  SliceChange slice;
  slice.ns = first.pod.ns;
  slice.service = first.pod.workload.name;
  slice.name = fmt::format("{}-{}", slice.service, number / 50);
  for (int i = number; listed && i < number + 50; ++i) {
    slice.endpoints.push_back({.addresses = {IpOf(i)}, .pod_uid = PodOf(i).pod.uid});
  }
  return slice;
}

double Mebibytes(size_t bytes) { return static_cast<double>(bytes) / (1024 * 1024); }

// `from` to `from + kPods` come, are served, and go.
void TellTombstones(Lifecycle& index, int from, double& now) {
  for (int i = from; i < from + kPods; ++i) {
    index.Apply(PodOf(i), At(now += 0.001));
    if (i % 50 == 49) index.Apply(SliceOf(i - 49, true), At(now += 0.001));
  }
  for (int i = from; i < from + kPods; ++i) {
    if (i % 50 == 0) index.Apply(SliceOf(i, false), At(now += 0.001));
    PodChange pod = PodOf(i);
    pod.deletion_requested = WallTime::FromNanos(At(now).nanos());
    index.Apply(pod, At(now += 0.001));
    pod.containers_finished = WallTime::FromNanos(At(now).nanos());
    pod.phase = PodPhase::kSucceeded;
    index.Apply(pod, At(now += 0.001));
    pod.deleted = true;
    index.Apply(pod, At(now += 0.001));
  }
}

// A quarter of the 100,000 live pods and as many tombstones that have to fit into 64 MiB, so that
// the test is quick in every build; the hash tables are filled to the same share.
TEST(MemoryTest, HundredThousandLivePodsAndAsManyTombstonesFit) {
  const size_t before = BytesInUse();
  Story story("@10 sync\n");
  Lifecycle& index = story.lifecycle();
  double now = 20;
  TellTombstones(index, 0, now);  // each with an address of its own: the worst case
  for (int i = kPods; i < 2 * kPods; ++i) {
    index.Apply(PodOf(i), At(now += 0.001));
    if (i % 50 == 49) index.Apply(SliceOf(i - 49, true), At(now += 0.001));
  }
  ASSERT_EQ(index.pods(), static_cast<size_t>(kPods));
  ASSERT_EQ(index.tombstones(), static_cast<size_t>(kPods));
  const double full = Mebibytes(BytesInUse() - before);
  RecordProperty("mebibytes", fmt::format("{:.2f}", full));
  EXPECT_LE(full, 64.0 / 4);
  EXPECT_GT(full, 20.0 / 4) << "the count does not count";

  // Others come and go in the place of those that are forgotten.
  index.Compact(At(now + 1));
  EXPECT_EQ(index.tombstones(), 0u);
  now += 10;
  TellTombstones(index, 2 * kPods, now);
  EXPECT_EQ(index.tombstones(), static_cast<size_t>(kPods));
  EXPECT_LE(Mebibytes(BytesInUse() - before), full * 1.05);

  // Asking costs no allocation.
  constexpr int kAsked = 2'000;
  size_t holders = 0;
  const uint64_t allocations = Allocations();
  for (int i = kPods; i < kPods + kAsked; ++i) {
    holders += index.At(IpOf(i), At(now)).holders.size();
  }
  EXPECT_EQ(Allocations() - allocations, 0u);
  EXPECT_EQ(holders, static_cast<size_t>(kAsked));
}

}  // namespace
}  // namespace phantomd::testing
