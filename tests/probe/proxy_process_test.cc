#include "agent/probe/proxy_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

BootTime Millis(double ms) { return BootTime::FromNanos(static_cast<int64_t>(ms * 1e6)); }

// Starts of /proc are whole ticks of 10 ms, the kernel's are exact.
TEST(ProxyProcessesTest, RoundedStartIsThatOfAnyWithinItsTick) {
  struct Row {
    double a;
    double b;
    bool same;
  };
  const Row rows[] = {
      {100, 100, true},         {100, 100.000001, true}, {100, 109.999999, true},
      {100, 110.000001, false}, {100, 99.999999, false}, {100, 110, false},
      {100.5, 100.5, true},     {100.5, 100.6, false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(ProxyProcesses::SameStart(Millis(row.a), Millis(row.b)), row.same)
        << row.a << " " << row.b;
    EXPECT_EQ(ProxyProcesses::SameStart(Millis(row.b), Millis(row.a)), row.same)
        << row.b << " " << row.a;
  }
}

class ElsewhereTest : public ::testing::Test {
 protected:
  ElsewhereTest() {
    process_.process_id = 7;
    process_.start = Millis(100.5);
    process_.netns_cookie = 1;
    processes_.Add(process_);
  }
  const std::map<uint64_t, BootTime>& Elsewhere() const {
    return processes_.Find(7, Millis(100))->elsewhere;
  }
  ProxyProcess process_;
  ProxyProcesses processes_;
};

TEST_F(ElsewhereTest, IsRememberedUntilItWasNotFoundAgain) {
  processes_.FoundIn(7, Millis(100), 2, Millis(1000));
  processes_.FoundIn(7, Millis(100), 3, Millis(1000));
  processes_.FoundIn(7, Millis(100), 3, Millis(2000));
  processes_.FoundIn(7, Millis(100), 1, Millis(2000));  // at home
  processes_.FoundIn(7, Millis(300), 4, Millis(2000));  // a later process of this ID
  EXPECT_THAT(Elsewhere(), ElementsAre(Pair(2, Millis(1000)), Pair(3, Millis(2000))));
  EXPECT_EQ(processes_.InNamespace(1).size(), 1u);
  EXPECT_EQ(processes_.InNamespace(2).size(), 1u);
  EXPECT_EQ(processes_.InNamespace(4).size(), 0u);
  processes_.ForgetElsewhere(Millis(1500));
  EXPECT_THAT(Elsewhere(), ElementsAre(Pair(3, Millis(2000))));
}

TEST_F(ElsewhereTest, OutlivesABetterDescriptionOfTheProcess) {
  processes_.FoundIn(7, Millis(100), 2, Millis(1000));
  process_.netns_cookie = 2;  // as it turns out
  processes_.Add(process_);
  EXPECT_THAT(Elsewhere(), IsEmpty());
  processes_.FoundIn(7, Millis(100), 3, Millis(1000));
  process_.uid = 1337;
  processes_.Add(process_);
  EXPECT_THAT(Elsewhere(), ElementsAre(Pair(3, Millis(1000))));
}

TEST_F(ElsewhereTest, AProcessThatIsDescribedAnewHasNotEnded) {
  processes_.End(7, Millis(100), Millis(1000));
  processes_.Add(process_);
  processes_.Forget(Millis(100'000));
  EXPECT_NE(processes_.Find(7, Millis(100)), nullptr);
}

}  // namespace
}  // namespace phantomd
