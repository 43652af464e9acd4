// The index against a world whose truth is known, and against an oracle that scans all news.
//
// A seed is printed with every failure; PHANTOMD_SEED=n runs one, PHANTOMD_SEEDS=n that many.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>

#include "tests/lifecycle/naive_oracle.h"
#include "tests/lifecycle/replica.h"
#include "tests/lifecycle/story.h"
#include "tests/lifecycle/world.h"
#include "tests/testing/seeds.h"

namespace phantomd::testing {
namespace {

// Tells the news one by one, calling `look` with the instant after each.
template <typename Look>
void Live(const World& world, Lifecycle& index, const Look& look) {
  for (size_t i = 0; i < world.news().size(); ++i) {
    const News& news = world.news()[i];
    std::visit([&](const auto& change) { index.Apply(change, news.observed); }, news.change);
    const bool last_of_instant =
        i + 1 == world.news().size() || world.news()[i + 1].observed != news.observed;
    if (last_of_instant) look(news.observed);
  }
}

class WorldTest : public ::testing::TestWithParam<bool> {
 protected:
  // Worlds of this parameter, each with the randomness for the questions.
  template <typename Body>
  void ForEachWorld(uint64_t usual, const Body& body) {
    const char* one = std::getenv("PHANTOMD_SEED");
    const uint64_t first = one == nullptr ? 1 : std::strtoull(one, nullptr, 10);
    const uint64_t seeds = one == nullptr ? SeedsOr(usual) : 1;
    for (uint64_t seed = first; seed < first + seeds; ++seed) {
      SCOPED_TRACE(fmt::format("seed {}{}", seed, GetParam() ? " with gaps" : ""));
      const World world(seed, GetParam());
      std::mt19937_64 random(seed);
      body(world, random);
      if (HasFatalFailure() || HasNonfatalFailure()) return;
    }
  }

  static BootTime Ago(BootTime now, double least, double most, std::mt19937_64& random) {
    const double ago = std::uniform_real_distribution<double>(least, most)(random);
    return now - Nanos(static_cast<int64_t>(ago * 1e9));
  }
};

// Asked as the engine asks, 3 s and more behind the news: the truth is always among what is
// possible, and what is sure is true.
TEST_P(WorldTest, TruthIsAmongThePossibilities) {
  int64_t asked = 0;
  int64_t sure = 0;
  int64_t held = 0;
  ForEachWorld(16, [&](const World& world, std::mt19937_64& random) {
    Lifecycle index(Story::DefaultOptions(), WallOffset());
    Live(world, index, [&](BootTime now) {
      for (const IpAddr& ip : world.ips()) {
        const BootTime t = Ago(now, 3, 30, random);
        if (t < index.horizon()) continue;
        const AddressFacts facts = index.At(ip, t);
        const std::string truth = world.HolderAt(ip, t);
        ++asked;
        bool possible = truth.empty() ? facts.nobody : facts.untold != UntoldReason::kNone;
        for (const PossibleHolder& holder : facts.holders) {
          const std::string& uid = holder.tenancy.ref->uid.value();
          if (holder.sure) {
            ASSERT_EQ(uid, truth) << "sure but wrong: " << ip.ToString() << " at " << t.nanos()
                                  << " asked at " << now.nanos() << "\n"
                                  << Describe(facts);
            ++sure;
          }
          if (uid != truth) continue;
          possible = true;
          if (facts.slices_broken) continue;
          ASSERT_TRUE(world.WithdrawnAt(uid, t) ? holder.may_be_withdrawn
                                                : holder.may_be_in_service)
              << "withdrawn=" << world.WithdrawnAt(uid, t) << " " << ip.ToString() << " at "
              << t.nanos() << " asked at " << now.nanos() << "\n"
              << Describe(facts);
        }
        if (!truth.empty()) ++held;
        // The limit of what can be known: force-deleted in a gap before its address was ever told.
        possible |= index.AddressesOf(index.FindPod(PodUid(truth))).empty() && !truth.empty() &&
                    world.DeletedAt(truth) <= t;
        ASSERT_TRUE(possible) << "truth " << (truth.empty() ? "nobody" : truth) << " of "
                              << ip.ToString() << " at " << t.nanos() << " asked at " << now.nanos()
                              << "\n"
                              << Describe(facts);
      }
    });
  });
  // Not a test that passes by knowing nothing: most of what was held is known for sure.
  EXPECT_GT(asked, 2'000);
  EXPECT_GT(sure * 10, held * (GetParam() ? 5 : 8)) << sure << " sure of " << held << " held";
}

TEST_P(WorldTest, AnswersAreThoseOfAnOracleThatScansAllNews) {
  ForEachWorld(3, [&](const World& world, std::mt19937_64& random) {
    Lifecycle index(Story::DefaultOptions(), WallOffset());
    int step = 0;
    Live(world, index, [&](BootTime now) {
      if (++step % 9 != 0) return;
      const NaiveOracle oracle(world.news(), now);
      for (const IpAddr& ip : world.ips()) {
        // Any instant, also of the future and of before the first sync.
        const BootTime t = Ago(now, -5, 60, random);
        ASSERT_EQ(WhoByIndex(index.At(ip, t)), oracle.Who(ip, t))
            << ip.ToString() << " at " << t.nanos() << " asked at " << now.nanos();
      }
    });
  });
}

TEST_P(WorldTest, CompactionChangesNoAnswerInsideTheHorizon) {
  ForEachWorld(5, [&](const World& world, std::mt19937_64& random) {
    Lifecycle whole(Story::DefaultOptions(), WallOffset());
    Lifecycle compacted(Story::DefaultOptions(), WallOffset());
    size_t next = 0;
    Live(world, whole, [&](BootTime now) {
      for (; next < world.news().size() && world.news()[next].observed <= now; ++next) {
        const News& news = world.news()[next];
        std::visit([&](const auto& change) { compacted.Apply(change, news.observed); },
                   news.change);
      }
      if (random() % 7 == 0) compacted.Compact(Ago(now, 20, 60, random));
      for (const IpAddr& ip : world.ips()) {
        const BootTime t = Ago(now, 0, 40, random);
        if (t < compacted.horizon()) {
          ASSERT_TRUE(compacted.At(ip, t).before_horizon || t < whole.horizon());
          continue;
        }
        // A pod that may go on serving for ever is forgotten once its deletion lies behind.
        AddressFacts expected = whole.At(ip, t);
        const auto given_up = [&](const PossibleHolder& holder) {
          return (!holder.tenancy.released.happened() ||
                  holder.tenancy.evidence == "another pod holds the address") &&
                 compacted.FindPod(holder.tenancy.ref->uid) == PodHandle::kNone;
        };
        expected.holders.erase(
            std::remove_if(expected.holders.begin(), expected.holders.end(), given_up),
            expected.holders.end());
        ASSERT_EQ(WhoByIndex(compacted.At(ip, t)), WhoByIndex(expected))
            << ip.ToString() << " at " << t.nanos() << " asked at " << now.nanos();
        ASSERT_EQ(compacted.IsStale(ip, now) || compacted.Tenancies(ip).empty(),
                  whole.IsStale(ip, now) || compacted.Tenancies(ip).empty());
      }
    });
    ASSERT_LT(compacted.tombstones(), whole.tombstones()) << "nothing was forgotten";
  });
}

TEST_P(WorldTest, ExportLeadsANewIndexToTheSameAnswers) {
  ForEachWorld(3, [&](const World& world, std::mt19937_64& random) {
    Lifecycle index(Story::DefaultOptions(), WallOffset());
    int step = 0;
    Live(world, index, [&](BootTime now) {
      if (++step % 150 == 0) {
        const auto replica = Replica(index, Story::DefaultOptions());
        for (int i = 0; i < 200; ++i) {
          const IpAddr& ip = world.ips()[random() % world.ips().size()];
          const BootTime t = Ago(now, -1, 200, random);
          ASSERT_EQ(Describe(replica->At(ip, t)), Describe(index.At(ip, t)))
              << ip.ToString() << " at " << t.nanos() << " asked at " << now.nanos();
        }
        ASSERT_EQ(replica->StaleAddresses(now), index.StaleAddresses(now));
        ASSERT_EQ(replica->pods(), index.pods());
        ASSERT_EQ(replica->tombstones(), index.tombstones());
      }
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Worlds, WorldTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "WithGaps" : "Whole"; });

}  // namespace
}  // namespace phantomd::testing
