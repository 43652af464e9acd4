// The agent's Prometheus metrics, made from the last published report at the moment of a scrape.
//
// Pure function; no label holds an address.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

#include "agent/engine/report.h"
#include "agent/serve/agent_health.h"

namespace phantomd {

std::vector<prometheus::MetricFamily> CollectMetrics(const Report& report,
                                                     const AgentHealth& health);

}  // namespace phantomd
