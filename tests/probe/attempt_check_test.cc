#include "agent/probe/attempt_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kStart = 1'004'000'000;

class AttemptCheckTest : public ::testing::Test {
 protected:
  void Read(uint64_t times, uint32_t pid = 7, uint64_t start_ns = kStart) {
    connect_record record{};
    record.kind = CONNECT_RECORD_ATTEMPT;
    record.process_id = pid;
    record.process_start_ns = start_ns;
    for (uint64_t i = 0; i < times; ++i) check_.Read(record);
  }
  // The kernel's counts of process 7 at a scan.
  void Scan(uint64_t by_main, uint64_t by_others, uint64_t lost = 0, uint64_t start_ns = kStart) {
    check_.AfterScan({{.process_id = 7,
                       .entry = {.start_ns = start_ns,
                                 .main_thread = {.attempts = by_main},
                                 .others = {.attempts = by_others, .lost = lost}}}});
  }

  AttemptCheck check_{/*continues=*/false};
};

TEST_F(AttemptCheckTest, WhatIsReadOrLostIsNotMissing) {
  Read(90);
  Scan(10, 90, 3);
  Read(7);  // on its way at that scan
  for (int i = 0; i < 3; ++i) {
    Scan(10, 90, 3);
    EXPECT_THAT(check_.Limitations(), IsEmpty());
  }
}

TEST_F(AttemptCheckTest, WhatIsMissingAtTwoScansIsSaidUntilItIsRead) {
  Read(95);
  Scan(10, 90, 3);
  Scan(10, 90, 3);
  EXPECT_THAT(check_.Limitations(), IsEmpty()) << "it may be on its way";
  Scan(10, 90, 3);
  EXPECT_THAT(check_.Limitations(), ElementsAre(HasSubstr("2 attempts that the kernel counted of "
                                                          "process 7")));
  Read(2);
  Scan(10, 90, 3);
  EXPECT_THAT(check_.Limitations(), IsEmpty());
}

TEST_F(AttemptCheckTest, AttemptsOfOthersDoNotMakeUpForIt) {
  Read(95);
  Read(50, 8);
  Read(50, 7, 9'000'000'000);  // an earlier or later process of this ID
  for (int i = 0; i < 3; ++i) Scan(0, 100);
  EXPECT_EQ(check_.Limitations().size(), 1u);
  check_.AfterScan({});
  EXPECT_THAT(check_.Limitations(), IsEmpty()) << "the process is forgotten";
}

TEST_F(AttemptCheckTest, WhatWasReadBeyondTheCountDoesNotMakeUpForIt) {
  Read(105);  // 5 of them before the kernel followed the process
  Scan(0, 100);
  Read(3);
  for (int i = 0; i < 3; ++i) Scan(0, 107);
  EXPECT_THAT(check_.Limitations(), ElementsAre(HasSubstr("4 attempts")));
}

// As user space names one that began before the agent.
TEST_F(AttemptCheckTest, RoundedStartIsTheSameProcess) {
  Scan(0, 0, 0, 1'000'000'000);
  Read(5);
  for (int i = 0; i < 3; ++i) Scan(0, 5, 0, 1'000'000'000);
  EXPECT_THAT(check_.Limitations(), IsEmpty());
}

TEST_F(AttemptCheckTest, AgentThatFollowsAnotherBeginsWithWhatItFinds) {
  check_ = AttemptCheck(/*continues=*/true);
  for (int i = 0; i < 3; ++i) Scan(50, 50);
  EXPECT_THAT(check_.Limitations(), IsEmpty());
  for (int i = 0; i < 3; ++i) Scan(50, 54);
  EXPECT_THAT(check_.Limitations(), ElementsAre(HasSubstr("4 attempts")));
}

}  // namespace
}  // namespace phantomd
