// Random polls of random proxies, against an oracle that keeps every snapshot whole; and the same
// answers again after compaction, and from what was exported.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "agent/belief/belief.h"
#include "tests/belief/belief_oracle.h"
#include "tests/belief/belief_script.h"

namespace phantomd {
namespace {

using ::phantomd::testing::Address;
using ::phantomd::testing::At;
using ::phantomd::testing::BeliefOracle;

const std::vector<std::string> kClusters = {"api", "db", "web"};
const std::vector<std::string> kAddresses = {"10.0.0.1:80", "10.0.0.1:81", "10.0.0.2:80",
                                             "10.0.0.3:80"};

// One random life of one proxy.
class World {
 public:
  World(uint32_t seed, bool losses) : random_(seed), losses_(losses) {}

  void Run(const ProxyId& proxy, Belief& belief, BeliefOracle& oracle, double seconds) {
    double now = 20;
    bool first = true, lost = false, fast = false;
    const double end = now + seconds;
    while (now < end) {
      if (Chance(20)) fast = !fast;
      const double before = now;
      now += fast ? Between(0.02, 0.12) : Between(5, 16);
      if (Chance(40)) now += Between(40, 120);
      const std::string error = !first && Chance(12) ? "timeout" : "";
      if (losses_ && !first && Chance(25)) {
        // Between the last snapshot and the next one.
        belief.Lost(proxy, At(before + 0.0001), At(before + 0.001));
        oracle.Lost();
        lost = true;
      }
      BeliefSnapshot snapshot;
      snapshot.proxy_id = proxy;
      snapshot.received = At(now);
      snapshot.requested = At(std::max(before + 0.002, now - Between(0.001, 0.05)));
      snapshot.error = error;
      if (error.empty()) {
        snapshot.complete = first || Chance(20) || (lost && Chance(3));
        if (snapshot.complete) lost = false;
        Mutate(before, now);
        Tell(snapshot, lost);
        first = false;
      }
      stamps_.push_back(snapshot.received);
      belief.Apply(snapshot);
      oracle.Apply(snapshot);
    }
    end_ = now;
    if (Chance(4)) {
      end_ += 3;
      belief.Gone(proxy, At(end_));
      oracle.Gone(At(end_));
      stamps_.push_back(At(end_));
    }
  }

  // An instant at, just before, just after or between polls, not before `from`.
  BootTime Instant(BootTime from) {
    for (;;) {
      BootTime t = At(Between(0, end_ + 40));
      if (!Chance(3)) {
        const Nanos steps[] = {Nanos(-1), Nanos(0), Nanos(1), std::chrono::milliseconds(-20),
                               std::chrono::seconds(-3)};
        t = stamps_[random_() % stamps_.size()] + steps[random_() % 5];
      }
      if (t >= from) return t;
    }
  }
  double end() const { return end_; }

 private:
  bool Chance(uint32_t one_in) { return random_() % one_in == 0; }
  double Between(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() % 1'000'000) / 1e6;
  }

  void Mutate(double before, double now) {
    for (const std::string& name : kClusters) {
      if (Chance(12)) {
        clusters_.erase(name);
        changed_.insert(name);
      } else if (!clusters_.contains(name) && Chance(3)) {
        clusters_[name].name = name;
        changed_.insert(name);
      }
      const auto found = clusters_.find(name);
      if (found == clusters_.end()) continue;
      BeliefSnapshot::Cluster& cluster = found->second;
      if (Chance(3)) {
        cluster.updated = WallTime::FromNanos(At(Between(before - 1, now + 0.5)).nanos());
      }
      for (const std::string& text : kAddresses) {
        if (!Chance(6)) continue;
        changed_.insert(name);
        const SocketAddr address = Address(text);
        const auto at =
            std::find_if(cluster.endpoints.begin(), cluster.endpoints.end(),
                         [&](const BeliefSnapshot::Endpoint& e) { return e.address == address; });
        if (at == cluster.endpoints.end()) {
          BeliefSnapshot::Endpoint endpoint;
          endpoint.address = address;
          endpoint.in_assignment = endpoint.in_host_set = true;
          cluster.endpoints.insert(cluster.endpoints.begin(), endpoint);
        } else if (Chance(3)) {
          cluster.endpoints.erase(at);
        } else if (Chance(2)) {
          at->in_assignment = !at->in_assignment;
          at->pending_removal = !at->in_assignment;
        } else {
          at->connects = Chance(8) ? 0 : at->connects + random_() % 3;
        }
      }
    }
  }

  // An incremental snapshot tells what changed, and sometimes what did not. After a loss some
  // changes are never told.
  void Tell(BeliefSnapshot& snapshot, bool lost) {
    for (const std::string& name : kClusters) {
      const bool tell = changed_.contains(name) ? !lost || Chance(2) : Chance(6);
      if (!snapshot.complete && !tell) continue;
      if (const auto found = clusters_.find(name); found != clusters_.end()) {
        snapshot.clusters.push_back(found->second);
        told_.insert(name);
      } else if (!snapshot.complete && told_.contains(name)) {
        snapshot.removed_clusters.push_back(name);
      }
    }
    changed_.clear();
  }

  std::mt19937 random_;
  const bool losses_;
  std::map<std::string, BeliefSnapshot::Cluster> clusters_;
  std::set<std::string> changed_, told_;
  std::vector<BootTime> stamps_;
  double end_ = 0;
};

void ExpectSame(const Belief& belief, const ProxyId& proxy, const BeliefOracle& oracle,
                World& world, BootTime horizon, bool let_go) {
  for (int i = 0; i < 60; ++i) {
    const BootTime t = world.Instant(horizon);
    ASSERT_EQ(belief.At(proxy, Address(kAddresses[0]), t).usable, oracle.Usable(t)) << t.nanos();
    for (const std::string& text : kAddresses) {
      const BeliefFacts facts = belief.At(proxy, Address(text), t);
      for (const std::string& cluster : kClusters) {
        auto expected = oracle.At(cluster, Address(text), t);
        const auto found =
            std::find_if(facts.clusters.begin(), facts.clusters.end(),
                         [&](const ClusterBelief& b) { return b.cluster == cluster; });
        // A removal older than a minute explains nothing and may be forgotten.
        if (expected && expected->hold == Hold::kDropped &&
            t > expected->gone_by + std::chrono::seconds(60)) {
          continue;
        }
        const std::string where = cluster + " " + text + " at " + std::to_string(t.nanos());
        ASSERT_EQ(found != facts.clusters.end(), expected.has_value()) << where;
        if (!expected) continue;
        EXPECT_EQ(found->hold, expected->hold) << where;
        EXPECT_EQ(found->first_seen, expected->first_seen) << where;
        EXPECT_EQ(found->last_seen, expected->last_seen) << where;
        EXPECT_EQ(found->gone_by, expected->gone_by) << where;
        EXPECT_EQ(found->received_before, expected->received_before) << where;
        EXPECT_EQ(found->connects_around, expected->connects_around) << where;
        if (::testing::Test::HasFailure()) return;
      }
      if (!let_go) continue;
      const BootTime until = world.Instant(t);
      const IpAddr ip = Address(text).ip;
      ASSERT_EQ(belief.LetGo(proxy, ip, t, until), oracle.LetGo(ip, t, until)) << t.nanos();
      ASSERT_EQ(belief.LetGo(proxy, ip, t), oracle.LetGo(ip, t, BootTime::Max())) << t.nanos();
      ASSERT_EQ(belief.BelievesNow(proxy, ip), oracle.BelievesNow(ip));
      ASSERT_EQ(!belief.BelieversOf(ip).empty(), oracle.BelievesNow(ip));
    }
  }
}

void Import(const Belief& from, Belief& to) {
  Belief::ExportSinks sinks;
  BootTime last = BootTime::Min();
  sinks.snapshot = [&](BeliefSnapshot snapshot) {
    EXPECT_GE(snapshot.received, last);
    last = snapshot.received;
    to.Apply(snapshot);
  };
  sinks.lost = [&](const ProxyId& proxy, BootTime told, BootTime begin, BootTime end) {
    EXPECT_GE(told, last);
    last = told;
    to.Lost(proxy, begin, end);
  };
  sinks.gone = [&](const ProxyId& proxy, BootTime when) {
    EXPECT_GE(when, last);
    last = when;
    to.Gone(proxy, when);
  };
  from.Export(sinks);
}

class BeliefModelTest : public ::testing::TestWithParam<bool> {};

TEST_P(BeliefModelTest, AnswersAsIfEverySnapshotWereKeptWhole) {
  const ProxyId proxy("p");
  for (uint32_t seed = 1; seed <= 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed, GetParam());
    Belief belief;
    BeliefOracle oracle;
    world.Run(proxy, belief, oracle, seed % 3 == 0 ? 900 : 200);
    ExpectSame(belief, proxy, oracle, world, BootTime::Min(), true);
    if (HasFailure()) return;

    {
      SCOPED_TRACE("exported");
      Belief copy;
      Import(belief, copy);
      ExpectSame(copy, proxy, oracle, world, BootTime::Min(), true);
      if (HasFailure()) return;
    }
    const BootTime horizon = At(world.end() * 0.6);
    belief.Compact(horizon);
    {
      SCOPED_TRACE("compacted");
      ExpectSame(belief, proxy, oracle, world, horizon, true);
      if (HasFailure()) return;
    }
    SCOPED_TRACE("compacted and exported");
    Belief copy;
    Import(belief, copy);
    ExpectSame(copy, proxy, oracle, world, horizon, true);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Losses, BeliefModelTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "WithLosses" : "Unbroken"; });

TEST(BeliefExportTest, ProxiesComeInOrderOfTheirPolls) {
  Belief belief, copy;
  BeliefOracle oracles[3];
  World worlds[3] = {World(7, false), World(8, false), World(9, true)};
  for (int i = 0; i < 3; ++i) {
    worlds[i].Run(ProxyId(std::string(1, static_cast<char>('a' + i))), belief, oracles[i], 300);
  }
  Import(belief, copy);
  for (int i = 0; i < 3; ++i) {
    const ProxyId proxy(std::string(1, static_cast<char>('a' + i)));
    for (int n = 0; n < 100; ++n) {
      const BootTime t = worlds[i].Instant(BootTime::Min());
      for (const std::string& text : kAddresses) {
        const BeliefFacts before = belief.At(proxy, Address(text), t);
        const BeliefFacts after = copy.At(proxy, Address(text), t);
        ASSERT_EQ(before.clusters.size(), after.clusters.size());
        for (size_t c = 0; c < before.clusters.size(); ++c) {
          EXPECT_EQ(before.clusters[c].cluster, after.clusters[c].cluster);
          EXPECT_EQ(before.clusters[c].last_seen, after.clusters[c].last_seen);
        }
      }
    }
    const Belief::ProxyFacts before = belief.Facts(proxy), after = copy.Facts(proxy);
    EXPECT_EQ(before.clusters, after.clusters);
    EXPECT_EQ(before.endpoints, after.endpoints);
    EXPECT_EQ(before.last_good, after.last_good);
    EXPECT_EQ(before.last_answer, after.last_answer);
    EXPECT_EQ(before.median_poll, after.median_poll);
  }
}

TEST(BeliefExportTest, WithoutASinkForEndsTheyAreSnapshotsThatListNothing) {
  Belief belief, copy;
  phantomd::testing::BeliefScript script(belief);
  script.Complete(10, "web: 10.0.0.1:80");
  belief.Gone(script.proxy(), At(20));
  belief.Export([&](BeliefSnapshot snapshot) { copy.Apply(snapshot); });
  EXPECT_FALSE(copy.BelievesNow(script.proxy(), Address("10.0.0.1:80").ip));
  EXPECT_EQ(copy.LetGo(script.proxy(), Address("10.0.0.1:80").ip, At(5)),
            belief.LetGo(script.proxy(), Address("10.0.0.1:80").ip, At(5)));
}

}  // namespace
}  // namespace phantomd
