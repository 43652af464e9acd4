// What BeliefTest asks of one proxy's belief.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "agent/belief/belief.h"
#include "tests/belief/belief_script.h"

namespace phantomd::testing {

inline constexpr char kA[] = "10.0.0.1:80";

class BeliefFixture : public ::testing::Test {
 protected:
  // "-": no belief; else "assigned", "host set" or "dropped" of the only cluster around t.
  std::string HoldAt(double t, std::string_view address = kA) {
    const BeliefFacts facts = belief_.At(script_.proxy(), Address(address), At(t));
    if (facts.clusters.empty()) return "-";
    EXPECT_EQ(facts.clusters.size(), 1u);
    switch (facts.clusters[0].hold) {
      case Hold::kAssigned:
        return "assigned";
      case Hold::kHostSet:
        return "host set";
      case Hold::kDropped:
        return "dropped";
    }
    return "?";
  }
  ClusterBelief Only(double t, std::string_view address = kA) {
    const BeliefFacts facts = belief_.At(script_.proxy(), Address(address), At(t));
    EXPECT_EQ(facts.clusters.size(), 1u) << "at " << t;
    return facts.clusters.empty() ? ClusterBelief{} : facts.clusters[0];
  }
  bool Usable(double t) { return belief_.At(script_.proxy(), Address(kA), At(t)).usable; }
  TimeBounds LetGo(double from, std::optional<double> until = std::nullopt) {
    return belief_.LetGo(script_.proxy(), Ip("10.0.0.1"), At(from),
                         until ? At(*until) : BootTime::Max());
  }

  Belief belief_;
  BeliefScript script_{belief_};
};

}  // namespace phantomd::testing
