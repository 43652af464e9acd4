// Judge allocates nothing for a LIVE attempt.
#include "fmt/format.h"
#include "tests/testing/allocation_count.h"
#include "tests/verdict/judge_fixture.h"

namespace phantomd::testing {
namespace {

// More pods than the index keeps composed names of: each is judged for the first time.
TEST_F(JudgeTest, ALiveAttemptAllocatesNothingHoweverManyPodsThereAre) {
  constexpr int kPods = 5'000;
  std::vector<std::string> names, ips;
  scene.At(1).Synced();
  for (int i = 0; i < kPods; ++i) {
    names.push_back(fmt::format("pod-{}", i));
    ips.push_back(fmt::format("10.0.{}.{}", i / 250, i % 250 + 1));
    scene.Runs({names.back(), ips.back()});
  }
  scene.Slice("catalog", names);
  scene.At(2).Polled("webapp", {{"catalog", ips}});
  scene.At(30).Polled("webapp", {{"catalog", ips}});
  Learn();
  const ProxyId proxy = Scene::ProxyIdOf("webapp");
  std::vector<Attempt> attempts;
  for (const std::string& ip : ips) {
    attempts.push_back(To(ip.c_str(), 10, 10.001, Outcome::kEstablished));
  }
  int live = 0;
  const uint64_t before = Allocations();
  for (const Attempt& attempt : attempts) {
    const Verdict verdict = Judge(attempt, proxy, lifecycle, belief, {}).verdict;
    live +=
        verdict.destination == DestinationClass::kLive && verdict.certainty == Certainty::kCertain;
  }
  EXPECT_EQ(Allocations(), before);
  EXPECT_EQ(live, kPods);
}

}  // namespace
}  // namespace phantomd::testing
