#include "agent/serve/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <regex>
#include <sstream>

#include "tests/wire/sample_report.h"

namespace phantomd {
namespace {

using ::testing::HasSubstr;

AgentHealth SampleHealth() {
  AgentHealth out;
  out.admin_polls = {
      .bounds = {0.0005, 0.001, 0.002}, .buckets = {0, 3, 2, 1}, .sum_seconds = 0.1, .count = 6};
  out.admin_poll_errors = 2;
  out.skipped = {{"pods", 1}};
  out.mailbox_blocked = {{"core", 0}};
  out.kernel_records = {{"attempt", {.made = 9, .read = 8, .lost = 2}}};
  return out;
}

std::string Text(const Report& report, const AgentHealth& health) {
  return prometheus::TextSerializer().Serialize(CollectMetrics(report, health));
}

TEST(MetricsTest, EveryCellIsALineWithItsLabels) {
  const std::string text = Text(testing::SampleReport(), SampleHealth());
  for (
      const char* line : {
          "phantom_attempts_total{source_namespace=\"shop\",source_workload=\"webapp\","
          "source_pod=\"webapp-1\",initiator=\"PROXY\",class=\"DEAD\",outcome=\"ABANDONED\"} 7\n",
          "phantom_connections_total{source_namespace=\"shop\",source_workload=\"webapp\","
          "source_pod=\"webapp-1\",destination_namespace=\"shop\",destination_workload=\"catalog\","
          "revision=\"5b6d\",class=\"DEAD\",certainty=\"CERTAIN\",cause=\"STALE_EDS\","
          "outcome=\"ABANDONED\",layer=\"L4\"} 7\n",
          "phantom_connect_wait_seconds_count{source_namespace=\"shop\",source_workload=\"webapp\","
          "destination_namespace=\"shop\",destination_workload=\"catalog\",class=\"DEAD\","
          "outcome=\"ABANDONED\"} 1\n",
          "phantom_window_seconds_sum{destination_namespace=\"shop\","
          "destination_workload=\"catalog\"} 3.02\n",
          "phantom_stale_endpoints{source_namespace=\"shop\",source_workload=\"webapp\","
          "source_pod=\"webapp-1\",class=\"DEAD\"} 1\n",
          "phantom_agent_lost_total{what=\"attempt\"} 4\n",
          "phantom_agent_kernel_records_total{what=\"attempt\",fate=\"made\"} 9\n",
          "phantom_agent_kernel_records_total{what=\"attempt\",fate=\"read\"} 8\n",
          "phantom_agent_kernel_records_total{what=\"attempt\",fate=\"lost\"} 2\n",
          "phantom_agent_late_total{what=\"pod\"} 1\n",
          "phantom_agent_feed_synced{feed=\"pods\"} 1\n",
          "phantom_agent_feed_synced{feed=\"nodes\"} 0\n",
          "phantom_agent_relists_total{feed=\"pods\"} 1\n",
          "phantom_agent_admin_poll_seconds_count 6\n",
          "phantom_agent_admin_poll_errors_total 2\n",
          "phantom_agent_proxies{belief=\"present\"} 1\n",
          "phantom_agent_proxies{belief=\"absent\"} 1\n",
          "phantom_agent_skipped_total{source=\"pods\"} 1\n",
          "phantom_agent_mailbox_blocked_total{mailbox=\"core\"} 0\n",
          "phantom_agent_held 5\n",
          "phantom_agent_not_judged_total{initiator=\"PROXY_CONTROL\"} 10\n",
          "phantom_agent_connections_dropped_total 6\n",
          "phantom_agent_build_info{version=\"0.1.0\",node=\"node-1\"} 1\n",
      }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(MetricsTest, HistogramBucketsAreCumulativeAndEndAtInfinity) {
  const std::string text = Text(testing::SampleReport(), SampleHealth());
  EXPECT_THAT(text, HasSubstr("phantom_agent_admin_poll_seconds_bucket{le=\"0.0005\"} 0\n"
                              "phantom_agent_admin_poll_seconds_bucket{le=\"0.001\"} 3\n"
                              "phantom_agent_admin_poll_seconds_bucket{le=\"0.002\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("phantom_agent_admin_poll_seconds_bucket{le=\"+Inf\"} 6\n"));
  // 1.004 s lies in the bucket up to 2 s.
  EXPECT_THAT(text, HasSubstr("outcome=\"ABANDONED\",le=\"1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("outcome=\"ABANDONED\",le=\"2\"} 1\n"));
}

TEST(MetricsTest, EveryFamilyHasHelpAndNoLabelHoldsAnAddress) {
  const std::regex address(R"((^|[^0-9.])\d{1,3}(\.\d{1,3}){3}([^0-9.]|$))");
  for (const auto& family : CollectMetrics(testing::SampleReport(), SampleHealth())) {
    EXPECT_FALSE(family.help.empty()) << family.name;
    for (const auto& metric : family.metric) {
      for (const auto& label : metric.label) {
        EXPECT_FALSE(std::regex_search(label.value, address)) << family.name << label.value;
      }
    }
  }
}

TEST(MetricsTest, FreshAgentHasItsOwnHealthAndNothingElse) {
  for (const auto& family : CollectMetrics(Report(), AgentHealth())) {
    EXPECT_TRUE(family.name.starts_with("phantom_agent_")) << family.name;
    EXPECT_FALSE(family.metric.empty()) << family.name;
  }
}

}  // namespace
}  // namespace phantomd
