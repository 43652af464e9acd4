// Which Service a name means, and which filter chains lead to a cluster: the rules by table.
#include <gtest/gtest.h>

#include "agent/envoy/cluster_layers.h"
#include "agent/envoy/json_walk.h"
#include "agent/envoy/service_name.h"

namespace phantomd {
namespace {

TEST(ServiceNameTest, ClusterNamesOfEveryKind) {
  struct Row {
    const char* cluster;
    const char* service;
  };
  for (const Row& row : {
           Row{"outbound|8080||catalog.shop.svc.cluster.local", "shop/catalog"},
           Row{"outbound|8080|v2|catalog.shop.svc.cluster.local", "shop/catalog"},
           Row{"outbound_.8080_._.catalog.shop.svc.cluster.local", "shop/catalog"},
           Row{"outbound_.8080_.v1_.catalog.shop.svc.cluster.local", "shop/catalog"},
           Row{"outbound|80||catalog.shop.svc.clusterset.local", "shop/catalog"},
           Row{"catalog.shop.svc", "shop/catalog"},
           Row{"catalog.shop.svc.cluster.local:8080", "shop/catalog"},
           Row{"outbound|80||db-0.db.data.svc.cluster.local", "data/db"},
           Row{"outbound|443||api.example.com", ""},
           Row{"outbound|443||*.shop.svc.cluster.local", ""},
           Row{"inbound|8080||", ""},
           Row{"PassthroughCluster", ""},
           Row{"svc.cluster.local", ""},
           Row{".svc", ""},
           Row{"shop.svc.cluster.local", ""},
           Row{"", ""},
       }) {
    EXPECT_EQ(ServiceOfCluster(row.cluster), row.service) << row.cluster;
  }
}

TEST(ServiceNameTest, WorkloadMetadataWithMissingParts) {
  EXPECT_EQ(ParseIstioWorkload("catalog;shop;svc;v1;east").workload, "shop/catalog");
  EXPECT_EQ(ParseIstioWorkload("catalog;shop;svc;v1;east").mesh_cluster, "east");
  EXPECT_EQ(ParseIstioWorkload("catalog;shop").workload, "shop/catalog");
  EXPECT_EQ(ParseIstioWorkload("catalog;shop").mesh_cluster, "");
  EXPECT_EQ(ParseIstioWorkload(";shop;;;east").workload, "");
  EXPECT_EQ(ParseIstioWorkload(";shop;;;east").mesh_cluster, "east");
  EXPECT_EQ(ParseIstioWorkload("").workload, "");
}

TEST(ClusterLayersTest, RoutesCountOnlyIfAListenerUsesThem) {
  ClusterLayers layers;
  layers.AddTcpTarget("tcp");
  layers.AddTcpTarget("both");
  layers.AddRouteConfig("used", {{"http", "both"}});
  layers.AddRouteConfig("unused", {{"tcp"}});
  layers.UseRouteConfig("used");
  layers.Resolve();
  EXPECT_EQ(layers.Of("tcp"), Layer::kL4);
  EXPECT_EQ(layers.Of("http"), Layer::kL7);
  EXPECT_EQ(layers.Of("both"), Layer::kMixed);
  EXPECT_EQ(layers.Of("other"), Layer::kUnspecified);
}

TEST(ClusterLayersTest, ScopedRoutesUseEveryConfiguration) {
  ClusterLayers layers;
  layers.AddRouteConfig("a", {{"http"}});
  layers.UseEveryRouteConfig();
  layers.Resolve();
  EXPECT_EQ(layers.Of("http"), Layer::kL7);
}

TEST(ClusterLayersTest, SniNamesOnlyClustersThatCouldBeHostNames) {
  ClusterLayers layers;
  layers.AddSniTargets();
  layers.AddInlineRoutes({{"routed.example"}});
  layers.Resolve();
  EXPECT_EQ(layers.Of("outbound_.80_._.catalog.shop.svc.cluster.local"), Layer::kL4);
  EXPECT_EQ(layers.Of("outbound|80||catalog.shop.svc.cluster.local"), Layer::kUnspecified);
  EXPECT_EQ(layers.Of("routed.example"), Layer::kMixed);
}

TEST(ClusterLayersTest, MembersOfAnAggregateHaveItsLayer) {
  ClusterLayers layers;
  layers.AddAggregate("inner", {"leaf"});
  layers.AddAggregate("outer", {"inner", "leaf2"});
  layers.AddTcpTarget("outer");
  layers.Resolve();
  EXPECT_EQ(layers.Of("leaf"), Layer::kL4);
  EXPECT_EQ(layers.Of("leaf2"), Layer::kL4);
}

TEST(JsonKeyTest, BothSpellingsAndNothingElse) {
  EXPECT_TRUE(JsonKey("eds_service_name\": 1").Is("eds_service_name"));
  EXPECT_TRUE(JsonKey("edsServiceName\": 1").Is("eds_service_name"));
  EXPECT_TRUE(JsonKey("name\"").Is("name"));
  EXPECT_TRUE(JsonKey("@type\"").Is("@type"));
  for (const char* other : {"\"", "eds\"", "eds_service_nam\"", "eds_service_names\"",
                            "edsservicename\"", "EdsServiceName\"", "edsServiceNameX\""}) {
    EXPECT_FALSE(JsonKey(other).Is("eds_service_name")) << other;
  }
}

}  // namespace
}  // namespace phantomd
