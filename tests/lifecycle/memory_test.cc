// What 100,000 live pods and as many tombstones weigh, and that asking costs no allocation.
//
// Counts the blocks that operator new hands out, with the allocator's own rounding.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <new>

#include "agent/lifecycle/lifecycle.h"
#include "fmt/format.h"
#include "tests/lifecycle/story.h"

namespace {

size_t g_bytes = 0;
size_t g_allocations = 0;
constexpr size_t kHeader = 8;  // glibc's, in front of every block

void* Counted(size_t size) {
  void* block = std::malloc(size);
  if (block == nullptr) std::abort();
  g_bytes += malloc_usable_size(block) + kHeader;
  ++g_allocations;
  return block;
}

void Uncounted(void* block) {
  if (block == nullptr) return;
  g_bytes -= malloc_usable_size(block) + kHeader;
  std::free(block);
}

}  // namespace

void* operator new(size_t size) { return Counted(size); }
void* operator new[](size_t size) { return Counted(size); }
void operator delete(void* block) noexcept { Uncounted(block); }
void operator delete[](void* block) noexcept { Uncounted(block); }
void operator delete(void* block, size_t) noexcept { Uncounted(block); }
void operator delete[](void* block, size_t) noexcept { Uncounted(block); }

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
  const size_t before = g_bytes;
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
  const double full = Mebibytes(g_bytes - before);
  RecordProperty("mebibytes", fmt::format("{:.2f}", full));
  EXPECT_LE(full, 64.0 / 4);
  EXPECT_GT(full, 20.0 / 4) << "the count does not count";

  // Others come and go in the place of those that are forgotten.
  index.Compact(At(now + 1));
  EXPECT_EQ(index.tombstones(), 0u);
  now += 10;
  TellTombstones(index, 2 * kPods, now);
  EXPECT_EQ(index.tombstones(), static_cast<size_t>(kPods));
  EXPECT_LE(Mebibytes(g_bytes - before), full * 1.05);

  // Asking costs no allocation.
  constexpr int kAsked = 2'000;
  size_t holders = 0;
  const size_t allocations = g_allocations;
  for (int i = kPods; i < kPods + kAsked; ++i) {
    holders += index.At(IpOf(i), At(now)).holders.size();
  }
  EXPECT_EQ(g_allocations - allocations, 0u);
  EXPECT_EQ(holders, static_cast<size_t>(kAsked));
}

}  // namespace
}  // namespace phantomd::testing
