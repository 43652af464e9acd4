#include "agent/probe/pod_ends.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/check.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kHostNetns = 1;

// A node with its pods, told one line an event; instants are milliseconds.
//
//   @10 run 7 a/c sleep 100       process 7, in cgroup c of pod a, named sleep, in namespace 100
//   @10 move 7 100                the process enters that namespace
//   @10 exit 7
//   @10 look                      what /proc shows now
//   @10 addresses 100 10.0.0.7    on that namespace's link
//   @10 lost 100 [gone-before=5]  the network is lost; the kernel saw its link at every end of a
//                                 process, or no more at the one at 5
//   @10 blind                     events were lost
//
// Cgroups get and lose their processes as the kernel has it: told by run and exit, container and
// pod. After each line the ends that follow are taken: "a [10.0.0.7] 12".
class PodEndsTest : public testing::Test {
 protected:
  void Tell(const std::string& lines) {
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);) TellLine(line);
  }

  void TellLine(const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(word);
    if (words.empty()) return;
    PHANTOMD_CHECK(words[0][0] == '@');
    now_ = At(std::stoll(words[0].substr(1)));
    const std::string& verb = words[1];
    if (verb == "run") {
      Run(words);
    } else if (verb == "exit") {
      Exit(std::stoul(words[2]));
    } else if (verb == "move") {
      processes_.at(std::stoul(words[2])).netns = std::stoul(words[3]);
    } else if (verb == "look") {
      Look();
    } else if (verb == "addresses") {
      std::vector<IpAddr> ips;
      for (size_t i = 3; i < words.size(); ++i) ips.push_back(*IpAddr::Parse(words[i]));
      ends_.OnAddresses(NetworkOf(words[2]), ips);
    } else if (verb == "lost") {
      pod_link link{.ifindex = 2, .pad = 0, .present_ns = last_exit_, .absent_ns = 0};
      if (words.size() > 3) {
        link.absent_ns = At(std::stoll(words[3].substr(words[3].find('=') + 1))).nanos();
      }
      ends_.OnNetworkLost(NetworkOf(words[2]), link);
    } else {
      PHANTOMD_CHECK(verb == "blind");
      ends_.OnCgroupsLost();
    }
    for (const PodEnd& end : ends_.TakeEnds(now_)) {
      std::string ips;
      for (const IpAddr& ip : end.ips) ips += (ips.empty() ? "" : " ") + ip.ToString();
      told_.push_back(end.pod_uid.value() + " [" + ips + "] " +
                      std::to_string(end.ended.nanos() / 1'000'000));
      EXPECT_EQ(end.evidence, "last process");
    }
  }

  static BootTime At(int64_t millis) { return BootTime::FromNanos(millis * 1'000'000); }

  void Run(const std::vector<std::string>& words) {
    PodProcess process;
    process.process_id = std::stoul(words[2]);
    process.start = now_;
    const size_t slash = words[3].find('/');
    process.cgroup.pod_uid = PodUid(words[3].substr(0, slash));
    process.cgroup.member = words[3].substr(slash + 1);
    process.command = words[4];
    process.netns = std::stoul(words[5]);
    process.machine = words[4] == "qemu";
    const bool first_of_pod = Count(process.cgroup.pod_uid) == 0;
    const bool first = Count(process.cgroup.pod_uid, process.cgroup.member) == 0;
    processes_[process.process_id] = process;
    if (blind_) return;
    if (first && !process.cgroup.member.empty()) ends_.OnCgroup(process.cgroup, true, now_);
    if (first_of_pod) ends_.OnCgroup({process.cgroup.pod_uid, "", false}, true, now_);
  }

  void Exit(uint32_t pid) {
    const PodCgroup cgroup = processes_.at(pid).cgroup;
    processes_.erase(pid);
    last_exit_ = now_.nanos();
    if (blind_) return;
    const bool last = Count(cgroup.pod_uid, cgroup.member) == 0;
    for (int hierarchy = 0; hierarchy < 2; ++hierarchy) {
      // Another hierarchy tells the same a little later.
      const BootTime at = now_ + std::chrono::milliseconds(2 * hierarchy);
      if (last && !cgroup.member.empty()) ends_.OnCgroup(cgroup, false, at);
      if (Count(cgroup.pod_uid) == 0) ends_.OnCgroup({cgroup.pod_uid, "", false}, false, at);
    }
  }

  void Look() {
    std::vector<PodProcess> shown;
    for (auto& [pid, process] : processes_) {
      process.on_host = process.netns == kHostNetns;
      shown.push_back(process);
    }
    for (const PodEnds::Found& found : ends_.OnProcesses(shown, now_)) {
      bound_.push_back(found.pod_uid.value() + " " + std::to_string(found.netns));
      ends_.Bind(found, static_cast<uint32_t>(found.netns));
    }
  }

  int Count(const PodUid& uid) const {
    int out = 0;
    for (const auto& [pid, process] : processes_) out += process.cgroup.pod_uid == uid;
    return out;
  }
  int Count(const PodUid& uid, const std::string& member) const {
    int out = 0;
    for (const auto& [pid, process] : processes_) {
      out += process.cgroup.pod_uid == uid && process.cgroup.member == member;
    }
    return out;
  }
  static uint32_t NetworkOf(const std::string& word) { return std::stoul(word); }

  // A pod with a sandbox and one container, whose namespace and address are known.
  void Begin() {
    Tell(R"(
      @1000 run 7 a/s pause 100
      @1050 run 8 a/c app 100
      @1100 look
      @1100 addresses 100 10.0.0.7)");
    ASSERT_THAT(bound_, ElementsAre("a 100"));
  }

  PodEnds ends_;
  BootTime now_;
  bool blind_ = false;
  uint64_t last_exit_ = 0;
  std::map<uint32_t, PodProcess> processes_;
  std::vector<std::string> bound_;
  std::vector<std::string> told_;
};

TEST_F(PodEndsTest, IsDatedToTheLastProcessOfTheLastContainer) {
  Begin();
  Tell(R"(
    @1200 run 9 a/d app 100
    @1250 run 10 a/d child 100
    @5000 exit 8
    @5010 exit 9
    @5020 exit 10
    @5100 exit 7
    @5150 look)");
  EXPECT_THAT(told_, IsEmpty()) << "its network is there";
  EXPECT_TRUE(ends_.AnyMayEnd());
  Tell("@5200 lost 100");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 5020"));
  EXPECT_EQ(ends_.pods(), 0u);
  EXPECT_EQ(ends_.TakeUntold(), 0u);
}

TEST_F(PodEndsTest, SandboxMayOutliveTheNetwork) {
  Begin();
  Tell("@5000 exit 8\n@5100 lost 100\n@5200 exit 7");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 5000"));
  EXPECT_EQ(ends_.pods(), 0u);
}

TEST_F(PodEndsTest, PodWithoutASandboxEndsWithItsLastProcess) {
  Tell("@1000 run 8 a/ app 100");
  EXPECT_TRUE(ends_.WantsProcesses(At(1100)));
  Tell(R"(
    @1100 look
    @1100 addresses 100 10.0.0.7 fd00::7
    @2000 run 9 a/ child 100
    @5000 exit 8
    @5003 exit 9
    @5010 lost 100)");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7 fd00::7] 5003"));
}

// A container named like a sandbox, younger than the pod's other processes, is one.
TEST_F(PodEndsTest, OnlyTheOldestProcessIsTheSandbox) {
  Tell(R"(
    @1000 run 8 a/c app 100
    @1050 run 7 a/s pause 100
    @1100 look
    @1100 addresses 100 10.0.0.7
    @5000 exit 8
    @5100 exit 7
    @5200 lost 100)");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 5100"));
}

TEST_F(PodEndsTest, CrashIsNoEnd) {
  Begin();
  Tell("@2000 exit 8\n@2100 look");
  EXPECT_THAT(told_, IsEmpty());
  Tell("@2500 run 9 a/d app 100");
  EXPECT_FALSE(ends_.AnyMayEnd());
  Tell("@9000 exit 9\n@9020 lost 100");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 9000"));
}

TEST_F(PodEndsTest, ContainerThatRunsAgainInTheSameCgroupIsNoEnd) {
  Begin();
  Tell("@2000 exit 8\n@2500 run 9 a/c app 100\n@9000 exit 9\n@9020 lost 100");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 9000"));
}

TEST_F(PodEndsTest, ContainerInThePodsOwnCgroupMayRunAgainToo) {
  Tell(R"(
    @1000 run 8 a/ app 100
    @1100 look
    @1100 addresses 100 10.0.0.7
    @2000 exit 8
    @2500 run 9 a/ app 100)");
  EXPECT_FALSE(ends_.AnyMayEnd());
  Tell("@9000 exit 9\n@9020 lost 100");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 9000"));
}

// Seen as the last process of the last container, while the next one begins.
TEST_F(PodEndsTest, ContainerThatBeginsBeforeTheNetworkIsLostIsNotMissed) {
  Begin();
  Tell("@2000 exit 8\n@2001 run 9 a/d app 100\n@2002 lost 100");
  EXPECT_THAT(told_, IsEmpty()) << "the address was lost under a running container";
  Tell("@3000 exit 9\n@3001 exit 7");
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(ends_.pods(), 0u);
}

TEST_F(PodEndsTest, AddressLostBeforeTheLastProcessIsNotDatedToIt) {
  Begin();
  Tell("@5000 exit 8\n@5100 exit 7\n@5200 lost 100 gone-before=4999");
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(PodEndsTest, LinkThatWasGoneOnlyWhenTheSandboxEndedDoesNoHarm) {
  Begin();
  Tell("@5000 exit 8\n@5100 exit 7\n@5200 lost 100 gone-before=5100");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 5000"));
}

TEST_F(PodEndsTest, LinkThatNobodyLookedForTellsNothing) {
  Begin();
  Tell("@5000 exit 8");
  last_exit_ = 0;
  Tell("@5200 lost 100");
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(PodEndsTest, PodWithoutAnAddressIsNotTold) {
  Tell("@1000 run 8 a/c app 100\n@1100 look");
  EXPECT_THAT(bound_, ElementsAre("a 100"));
  EXPECT_TRUE(ends_.AnyMayEnd()) << "its address is still to come";
  Tell("@5000 exit 8\n@5001 lost 100");
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(PodEndsTest, EndIsNotToldBeforeItsTime) {
  Begin();
  Tell("@5000 exit 8\n@4990 lost 100");  // the round began before the record was made
  EXPECT_THAT(told_, IsEmpty());
  Tell("@5040 exit 7");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 5000"));
}

TEST_F(PodEndsTest, PodOfTheHostsNetworkHasNoNamespaceOfItsOwn) {
  Tell("@1000 run 8 a/c app 1\n@1100 look\n@2000 look\n@6000 look\n@9000 look");
  EXPECT_THAT(bound_, IsEmpty());
  EXPECT_FALSE(ends_.WantsProcesses(At(90'000)));
  Tell("@9500 exit 8");
  EXPECT_EQ(ends_.pods(), 0u);
}

// An interface plugin of the host's network that works inside another pod's namespace.
TEST_F(PodEndsTest, HelperInAnotherPodsNamespaceDoesNotMakeItItsOwn) {
  Begin();
  Tell("@2000 run 20 p/c plugin 1\n@2010 run 21 p/c helper 100\n@2150 look");
  EXPECT_THAT(bound_, ElementsAre("a 100"));
}

TEST_F(PodEndsTest, NamespaceIsThatOfThePodWhichWasFirst) {
  Begin();
  Tell("@2000 run 20 b/c app 100\n@2150 look\n@5000 exit 8\n@5010 exit 7\n@5020 lost 100");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 5000"));
}

TEST_F(PodEndsTest, NamespaceIsKnownOnceTheProcessHasEnteredIt) {
  Tell("@1000 run 8 a/c app 1\n@1100 look\n@1500 move 8 100");
  EXPECT_FALSE(ends_.WantsProcesses(At(1999)));
  EXPECT_TRUE(ends_.WantsProcesses(At(2000)));
  Tell("@2000 look\n@2000 addresses 100 10.0.0.7\n@5000 exit 8\n@5001 lost 100");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 5000"));
}

TEST_F(PodEndsTest, PodThatIsKnownIsNotLookedAtAgain) {
  Begin();
  EXPECT_FALSE(ends_.WantsProcesses(At(60'000)));
  Tell("@2000 exit 8\n@2500 run 9 a/d app 100");
  EXPECT_FALSE(ends_.WantsProcesses(At(60'000)));
}

TEST_F(PodEndsTest, PodThatIsOverIsNotLookedAt) {
  for (const char* cgroup : {"a/c", "a/"}) {
    Tell("@1000 run 8 " + std::string(cgroup) + " app 1\n@1010 exit 8");
    EXPECT_FALSE(ends_.WantsProcesses(At(90'000)));
    EXPECT_EQ(ends_.pods(), 0u);
  }
}

TEST_F(PodEndsTest, LooksAreFewAndApart) {
  Tell("@1000 run 8 a/c app 1");
  EXPECT_FALSE(ends_.WantsProcesses(At(1099)));
  EXPECT_TRUE(ends_.WantsProcesses(At(1100)));
  Tell("@1100 look\n@1150 run 9 b/c app 1");
  EXPECT_FALSE(ends_.WantsProcesses(At(1349))) << "one was made just now";
  EXPECT_TRUE(ends_.WantsProcesses(At(1350)));
}

TEST_F(PodEndsTest, MachineIsLeftAlone) {
  Tell(R"(
    @1000 run 7 a/s pause 100
    @1050 run 8 a/c qemu 100
    @1100 look
    @2000 look
    @6000 look)");
  EXPECT_THAT(bound_, IsEmpty());
}

TEST_F(PodEndsTest, PodThatRanBeforeTheAgentIsTakenIn) {
  blind_ = true;
  Tell("@1000 run 7 a/s pause 100\n@1050 run 8 a/c app 100");
  blind_ = false;
  Tell("@3000 look\n@3000 addresses 100 10.0.0.7\n@5000 exit 8\n@5001 exit 7\n@5100 lost 100");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 5000"));
}

TEST_F(PodEndsTest, ContainerThatEndedUnseenIsNotTold) {
  Begin();
  blind_ = true;
  Tell("@2000 exit 8");
  blind_ = false;
  Tell("@2050 blind");
  EXPECT_TRUE(ends_.WantsProcesses(At(2350)));
  Tell("@2350 look\n@2400 exit 7\n@2410 lost 100");
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(ends_.TakeUntold(), 1u);
}

// The last end that was told may not have been the last one.
TEST_F(PodEndsTest, ContainerThatCameAndWentUnseenIsNotTold) {
  Begin();
  Tell("@2000 exit 8");
  blind_ = true;
  Tell("@2100 run 9 a/d app 100\n@2200 exit 9");
  blind_ = false;
  Tell("@2250 blind\n@2350 look\n@2410 lost 100");
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(ends_.TakeUntold(), 1u);
}

TEST_F(PodEndsTest, NothingIsToldBeforeTheRecount) {
  Begin();
  Tell("@2000 exit 8\n@2250 blind\n@2251 lost 100");
  EXPECT_THAT(told_, IsEmpty());
  EXPECT_EQ(ends_.TakeUntold(), 1u);
}

TEST_F(PodEndsTest, EndAfterTheRecountIsExactAgain) {
  Begin();
  Tell("@2000 blind\n@2350 look\n@5000 exit 8\n@5100 lost 100");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 5000"));
  EXPECT_EQ(ends_.TakeUntold(), 0u);
}

TEST_F(PodEndsTest, ContainerThatBeganUnseenRuns) {
  Begin();
  Tell("@2000 exit 8");
  blind_ = true;
  Tell("@2100 run 9 a/d app 100");
  blind_ = false;
  Tell("@2150 blind\n@2350 look");
  EXPECT_FALSE(ends_.AnyMayEnd());
  Tell("@5000 exit 9\n@5100 lost 100");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 5000"));
}

// The pod lives on elsewhere: what it has lost is the first address.
TEST_F(PodEndsTest, SandboxThatIsMadeAnewEndsTheFirstAddressAlone) {
  Begin();
  Tell(R"(
    @2000 exit 8
    @2010 exit 7
    @2050 lost 100
    @3000 run 17 a/t pause 200
    @3050 run 18 a/d app 200
    @3100 look
    @3100 addresses 200 10.0.0.8)");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 2000"));
  EXPECT_THAT(bound_, ElementsAre("a 100", "a 200"));
  Tell("@9000 exit 18\n@9010 exit 17\n@9050 lost 200");
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 2000", "a [10.0.0.8] 9000"));
}

// The new sandbox is there before the loss of the old one is learned.
TEST_F(PodEndsTest, SandboxThatIsMadeAnewAtOnceIsFound) {
  Begin();
  Tell("@2000 exit 8\n@2010 exit 7\n@2040 run 17 a/t pause 200\n@2050 lost 100");
  EXPECT_TRUE(ends_.WantsProcesses(At(2350)));
  Tell("@2350 look");
  EXPECT_THAT(bound_, ElementsAre("a 100", "a 200"));
}

// Its containers never ran in the second one: the end of the first one's is not the second's.
TEST_F(PodEndsTest, EndOfAnEarlierSandboxDatesNoLaterOne) {
  Begin();
  Tell(R"(
    @2000 exit 8
    @2010 exit 7
    @2050 run 17 a/t pause 200
    @2300 look
    @2310 lost 100
    @2600 look
    @2600 addresses 200 10.0.0.8
    @3000 exit 17
    @3050 lost 200)");
  EXPECT_THAT(bound_, ElementsAre("a 100", "a 200"));
  EXPECT_THAT(told_, ElementsAre("a [10.0.0.7] 2000"));
}

TEST_F(PodEndsTest, WhatRunsInsideAContainerIsNoContainer) {
  Begin();
  ends_.OnCgroup({PodUid("a"), "c", true}, true, At(1500));
  ends_.OnCgroup({PodUid("a"), "c", true}, false, At(1600));
  EXPECT_FALSE(ends_.AnyMayEnd());
}

TEST_F(PodEndsTest, ManyPodsLeaveNothingBehind) {
  for (int i = 0; i < 500; ++i) {
    const std::string n = std::to_string(10 + i);
    const std::string t = "@" + std::to_string(1000 * (i + 1));
    Tell(t + " run " + n + " p" + n + "/c app " + n + "\n" + t + " look\n" + t + " addresses " + n +
         " 10.0.0.7\n" + t + " exit " + n + "\n" + t + " lost " + n);
  }
  EXPECT_EQ(told_.size(), 500u);
  EXPECT_EQ(ends_.pods(), 0u);
  EXPECT_FALSE(ends_.AnyMayEnd());
}

}  // namespace
}  // namespace phantomd
