// update_time statistics, and which cluster each of them is of.
#include "agent/envoy/update_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/envoy/config_dump.h"
#include "tests/envoy/samples.h"

namespace phantomd {
namespace {

using ::testing::IsEmpty;

constexpr char kCatalogHttp[] = "outbound|8080||catalog.shop.svc.cluster.local";

ClusterConfig Cluster(std::string name, std::string stat_name = "") {
  ClusterConfig cluster;
  cluster.name = std::move(name);
  cluster.stat_name = std::move(stat_name);
  return cluster;
}

TEST(UpdateTimesTest, EdsClustersOfARealProxyAreDatedToTheMillisecond) {
  const auto dump = DecodeConfigDump(Sample("config_dump.json"));
  ASSERT_TRUE(dump.ok()) << dump.status();
  const auto times =
      DecodeUpdateTimes(Sample("stats_update_time.json"), UpdateTimeStatNames(dump->clusters));
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(times->size(), 4u) << "as many as there are EDS clusters";
  const WallTime updated = times->at(kCatalogHttp);
  EXPECT_GT(updated, WallTime::FromNanos(1'700'000'000'000'000'000));
  EXPECT_EQ(updated.nanos() % 1'000'000, 0);
}

TEST(UpdateTimesTest, ColonOfAClusterNameIsPrintedAsUnderscore) {
  const StatNames names = UpdateTimeStatNames({Cluster("a:80"), Cluster("b", "other")});
  const auto times =
      DecodeUpdateTimes(R"({"stats":[{"name":"cluster.a_80.update_time","value":1700000000001},)"
                        R"({"name":"cluster.other.update_time","value":"1700000000002"},)"
                        R"({"name":"cluster.b.update_time","value":3},)"
                        R"({"name":"cluster.a_80.update_success","value":4},{"histograms":{}}]})",
                        names);
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_EQ(times->size(), 2u) << "only what a known cluster would be called";
  EXPECT_EQ(times->at("a:80"), WallTime::FromNanos(1'700'000'000'001'000'000));
  EXPECT_EQ(times->at("b"), WallTime::FromNanos(1'700'000'000'002'000'000));
}

TEST(UpdateTimesTest, NoUpdateYetIsUnset) {
  const auto times = DecodeUpdateTimes(R"({"stats":[{"name":"cluster.a.update_time","value":0}]})",
                                       UpdateTimeStatNames({Cluster("a")}));
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_FALSE(times->at("a").is_set());
}

TEST(UpdateTimesTest, StatisticsThatAreNotKeptAreNoError) {
  const auto times = DecodeUpdateTimes(R"({"stats":[]})", UpdateTimeStatNames({Cluster("a")}));
  ASSERT_TRUE(times.ok()) << times.status();
  EXPECT_THAT(*times, IsEmpty());
}

TEST(UpdateTimesTest, RubbishAndCutAnswersAreErrors) {
  const StatNames names = UpdateTimeStatNames({Cluster("a")});
  for (const char* answer :
       {"", "{}", "cluster.a.update_time: 1", R"({"stats":{}})",
        R"({"stats":[{"name":"cluster.a.update_time","value":-1}]})",
        R"({"stats":[{"name":"cluster.a.update_time","value":9223372036855}]})"}) {
    EXPECT_FALSE(DecodeUpdateTimes(answer, names).ok()) << answer;
  }
  const std::string whole = Compact(Sample("stats_update_time.json"));
  ASSERT_TRUE(DecodeUpdateTimes(whole, names).ok());
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(DecodeUpdateTimes(whole.substr(0, length), names).ok()) << length;
  }
}

}  // namespace
}  // namespace phantomd
