// What rtnetlink tells of other network namespaces: real ones.
#include "agent/probe/namespace_watch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/bpf/network_lab.h"

namespace phantomd {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class NamespaceWatchTest : public testing::Test {
 protected:
  void Start(int receive_bytes = 0) {
    auto watch = NamespaceWatch::Start(receive_bytes);
    ASSERT_TRUE(watch.ok()) << watch.status();
    watch_ = *std::move(watch);
  }
  uint32_t Watch(const NetworkNamespace& netns) {
    const auto id = watch_->Watch(netns.path());
    EXPECT_TRUE(id.ok()) << id.status();
    return id.value_or(0);
  }
  static std::unique_ptr<NetworkNamespace> WithAddress() {
    auto out = std::make_unique<NetworkNamespace>();
    out->Shell(
        "ip link add eth0 type veth peer name other0; ip link set eth0 up; ip addr add 10.0.0.7/32 "
        "dev eth0;"
        "ip addr add fd00::7/128 dev eth0 nodad; ip link set lo up");
    return out;
  }
  bool WaitForChange(const NamespaceChange& change) {
    return WaitFor([&] {
      for (const NamespaceChange& seen : watch_->TakeChanges()) {
        if (seen == change) return true;
      }
      return false;
    });
  }
  static IpAddr Ip(const char* text) { return *IpAddr::Parse(text); }

  std::unique_ptr<NamespaceWatch> watch_;
};

TEST_F(NamespaceWatchTest, NamesTheLinkWithTheAddress) {
  Start();
  const auto netns = WithAddress();
  const uint32_t id = Watch(*netns);
  const auto link = watch_->LinkOf(id);
  ASSERT_TRUE(link.ok()) << link.status();
  EXPECT_THAT(link->ips, UnorderedElementsAre(Ip("10.0.0.7"), Ip("fd00::7")))
      << "neither the loopback's nor fe80::";
  EXPECT_EQ(*watch_->HasLink(id, link->index), true);
  EXPECT_EQ(*watch_->HasLink(id, link->index + 7), false);
}

TEST_F(NamespaceWatchTest, PrefersTheLinkThatRuntimesNameEth0) {
  Start();
  NetworkNamespace netns;
  netns.Shell(
      "ip link add net1 type veth peer name other1; ip addr add 10.1.0.1/24 dev net1;"
      "ip link add eth0 type veth peer name other0; ip addr add 10.0.0.7/32 dev eth0");
  const auto link = watch_->LinkOf(Watch(netns));
  ASSERT_TRUE(link.ok()) << link.status();
  EXPECT_THAT(link->ips, ElementsAre(Ip("10.0.0.7")));
}

TEST_F(NamespaceWatchTest, NamespaceWithoutAnAddressHasNoLink) {
  Start();
  const NetworkNamespace netns;
  EXPECT_TRUE(absl::IsNotFound(watch_->LinkOf(Watch(netns)).status()));
}

TEST_F(NamespaceWatchTest, TellsOfALinkThatGoes) {
  Start();
  const auto netns = WithAddress();
  const uint32_t id = Watch(*netns);
  const uint32_t index = watch_->LinkOf(id)->index;
  netns->DeleteLink("eth0");
  EXPECT_TRUE(WaitForChange({id, false}));
  EXPECT_EQ(*watch_->HasLink(id, index), false);
  EXPECT_TRUE(absl::IsNotFound(watch_->LinkOf(id).status()));
}

TEST_F(NamespaceWatchTest, TellsOfALaterAddress) {
  Start();
  NetworkNamespace netns;
  const uint32_t id = Watch(netns);
  netns.Shell("ip link add eth0 type veth peer name other0; ip addr add 10.0.0.7/32 dev eth0");
  EXPECT_TRUE(WaitForChange({id, false}));
  EXPECT_TRUE(WaitFor([&] { return watch_->LinkOf(id).ok(); }));
}

// Watched, and yet it goes with its last holder.
TEST_F(NamespaceWatchTest, TellsOfANamespaceThatGoesAndDoesNotKeepIt) {
  Start();
  auto netns = WithAddress();
  const uint32_t id = Watch(*netns);
  netns.reset();
  EXPECT_TRUE(WaitForChange({id, true}));
  EXPECT_TRUE(absl::IsNotFound(watch_->HasLink(id, 1).status()));
  EXPECT_TRUE(absl::IsNotFound(watch_->LinkOf(id).status()));
}

TEST_F(NamespaceWatchTest, NumbersAreNotUsedAgain) {
  Start();
  auto first = WithAddress();
  const uint32_t id = Watch(*first);
  EXPECT_EQ(Watch(*first), id);
  first.reset();
  EXPECT_TRUE(WaitForChange({id, true}));
  const NetworkNamespace second;
  EXPECT_NE(Watch(second), id);
}

TEST_F(NamespaceWatchTest, IsSilentOnWhatNobodyWatches) {
  Start();
  const auto watched = WithAddress();
  const uint32_t id = Watch(*watched);
  const auto forgotten = WithAddress();
  watch_->Forget(Watch(*forgotten));
  watch_->TakeChanges();
  const auto stranger = WithAddress();
  stranger->DeleteLink("eth0");
  forgotten->DeleteLink("eth0");
  watched->DeleteLink("eth0");  // the last of all: what came before would be there by now
  std::vector<NamespaceChange> seen;
  EXPECT_TRUE(WaitFor([&] {
    for (const NamespaceChange& change : watch_->TakeChanges()) seen.push_back(change);
    return !seen.empty();
  }));
  EXPECT_THAT(seen, Each(NamespaceChange{id, false}));
}

// Where the socket has no room for what happens, it is counted, and everything is looked at.
TEST_F(NamespaceWatchTest, OverrunIsCountedAndHidesNothing) {
  Start(/*receive_bytes=*/4096);
  const auto noisy = WithAddress();
  const auto quiet = WithAddress();
  auto gone = WithAddress();
  const uint32_t noisy_id = Watch(*noisy);
  const uint32_t quiet_id = Watch(*quiet);
  const uint32_t gone_id = Watch(*gone);
  const auto flood = [&](int net) {
    std::string batch;
    for (int i = 1; i <= 200; ++i) batch += fmt::format("ip addr add 10.{}.0.{} dev eth0;", net, i);
    noisy->Shell(batch);
  };
  watch_->TakeChanges();
  EXPECT_EQ(watch_->overruns(), 0u);
  flood(2);
  EXPECT_THAT(watch_->TakeChanges(), UnorderedElementsAre(NamespaceChange{noisy_id, false},
                                                          NamespaceChange{quiet_id, false},
                                                          NamespaceChange{gone_id, false}));
  EXPECT_GT(watch_->overruns(), 0u);
  // The message of its end finds no room.
  flood(3);
  gone.reset();
  EXPECT_TRUE(WaitFor([&] { return absl::IsNotFound(watch_->HasLink(gone_id, 1).status()); }));
  EXPECT_THAT(watch_->TakeChanges(), UnorderedElementsAre(NamespaceChange{noisy_id, false},
                                                          NamespaceChange{quiet_id, false},
                                                          NamespaceChange{gone_id, true}));
}

TEST_F(NamespaceWatchTest, OrdinaryPathIsNoNamespace) {
  Start();
  EXPECT_FALSE(watch_->Watch("/proc/self/ns/nothing").ok());
  EXPECT_FALSE(watch_->Watch("/proc/self/status").ok());
}

}  // namespace
}  // namespace phantomd
