#include "agent/serve/metrics.h"

#include <limits>
#include <span>
#include <string>
#include <utility>

#include "agent/lifecycle/feed_name.h"
#include "phantom/v1/types.pb.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

// The names of the values on every surface are those of the protos.
std::string Name(DestinationClass v) {
  return pb::DestinationClass_Name(static_cast<pb::DestinationClass>(v));
}
std::string Name(Outcome v) { return pb::Outcome_Name(static_cast<pb::Outcome>(v)); }
std::string Name(Initiator v) { return pb::Initiator_Name(static_cast<pb::Initiator>(v)); }
std::string Name(Certainty v) { return pb::Certainty_Name(static_cast<pb::Certainty>(v)); }
std::string Name(Cause v) { return pb::Cause_Name(static_cast<pb::Cause>(v)); }
std::string Name(Layer v) { return pb::Layer_Name(static_cast<pb::Layer>(v)); }

// One family while it is filled.
class Family {
 public:
  Family(const char* name, MetricType type, const char* help) {
    family_.name = name;
    family_.type = type;
    family_.help = help;
  }

  void Count(Labels labels, uint64_t value) {
    Add(std::move(labels)).counter.value = static_cast<double>(value);
  }
  void Gauge(Labels labels, double value) { Add(std::move(labels)).gauge.value = value; }
  void Observe(Labels labels, const Histogram& histogram, std::span<const double> bounds) {
    Observe(std::move(labels), bounds, histogram.buckets, histogram.sum_seconds, histogram.count);
  }
  // `buckets` has one more than `bounds` and is not cumulative; Prometheus' are.
  void Observe(Labels labels, std::span<const double> bounds, std::span<const uint64_t> buckets,
               double sum_seconds, uint64_t count) {
    ClientMetric::Histogram& out = Add(std::move(labels)).histogram;
    out.sample_count = count;
    out.sample_sum = sum_seconds;
    uint64_t cumulative = 0;
    for (size_t i = 0; i < buckets.size(); ++i) {
      cumulative += buckets[i];
      const double bound = i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity();
      out.bucket.push_back({cumulative, bound});
    }
  }

  MetricFamily Take() { return std::move(family_); }

 private:
  ClientMetric& Add(Labels labels) {
    family_.metric.emplace_back().label = std::move(labels);
    return family_.metric.back();
  }

  MetricFamily family_;
};

MetricFamily Attempts(const MetricCells& cells) {
  Family out("phantom_attempts_total", MetricType::Counter,
             "Judged TCP connects of proxies and of applications around them, by what stood behind "
             "the destination at the SYN and by how the connect ended.");
  for (const auto& c : cells.attempts) {
    out.Count({{"source_namespace", c.source.ns},
               {"source_workload", c.source.workload},
               {"source_pod", c.source.pod},
               {"initiator", Name(c.initiator)},
               {"class", Name(c.destination_class)},
               {"outcome", Name(c.outcome)}},
              c.count);
  }
  return out.Take();
}

MetricFamily Connections(const MetricCells& cells) {
  Family out("phantom_connections_total", MetricType::Counter,
             "Judged TCP connects to withdrawn, dead or reused addresses, by the last pod's "
             "workload and revision and by why the proxy still used the address.");
  for (const auto& c : cells.connections) {
    out.Count({{"source_namespace", c.source.ns},
               {"source_workload", c.source.workload},
               {"source_pod", c.source.pod},
               {"destination_namespace", c.destination.ns},
               {"destination_workload", c.destination.workload},
               {"revision", c.destination.revision},
               {"class", Name(c.destination_class)},
               {"certainty", Name(c.certainty)},
               {"cause", Name(c.cause)},
               {"outcome", Name(c.outcome)},
               {"layer", Name(c.layer)}},
              c.count);
  }
  return out.Take();
}

MetricFamily Waits(const MetricCells& cells) {
  Family out("phantom_connect_wait_seconds", MetricType::Histogram,
             "From SYN to outcome in seconds: what the caller of a connect waited.");
  for (const auto& c : cells.waits) {
    out.Observe({{"source_namespace", c.source_ns},
                 {"source_workload", c.source_workload},
                 {"destination_namespace", c.destination_ns},
                 {"destination_workload", c.destination_workload},
                 {"class", Name(c.destination_class)},
                 {"outcome", Name(c.outcome)}},
                c.histogram, kWaitBuckets);
  }
  return out.Take();
}

MetricFamily Windows(const MetricCells& cells) {
  Family out("phantom_window_seconds", MetricType::Histogram,
             "How long in seconds one proxy went on believing in the departed pods of one rollout; "
             "one observation per proxy and rollout, when its window closes.");
  for (const auto& c : cells.windows) {
    out.Observe({{"destination_namespace", c.destination_ns},
                 {"destination_workload", c.destination_workload}},
                c.histogram, kWindowBuckets);
  }
  return out.Take();
}

MetricFamily Stale(const MetricCells& cells) {
  Family out("phantom_stale_endpoints", MetricType::Gauge,
             "Endpoints that a proxy believes in right now although they are withdrawn or dead.");
  for (const auto& c : cells.stale) {
    out.Gauge({{"source_namespace", c.source.ns},
               {"source_workload", c.source.workload},
               {"source_pod", c.source.pod},
               {"class", Name(c.destination_class)}},
              static_cast<double>(c.count));
  }
  return out.Take();
}

// A counter with one label whose values are keys of `counts`.
template <typename Pairs>
MetricFamily Keyed(const char* name, const char* help, const char* label, const Pairs& counts) {
  Family out(name, MetricType::Counter, help);
  for (const auto& [key, count] : counts) out.Count({{label, key}}, count);
  return out.Take();
}

void CollectAgent(const StatusReport& status, const AgentHealth& health,
                  std::vector<MetricFamily>* out) {
  out->push_back(Keyed("phantom_agent_lost_total",
                       "Observations that were lost before the agent saw them, by kind.", "what",
                       status.lost));
  Family records(
      "phantom_agent_kernel_records_total", MetricType::Counter,
      "Records that the kernel made and that were read of them, and what left none. What "
      "happened is made + lost; made is read but for the latest moment.");
  for (const auto& [what, count] : health.kernel_records) {
    records.Count({{"what", what}, {"fate", "made"}}, count.made);
    records.Count({{"what", what}, {"fate", "read"}}, count.read);
    records.Count({{"what", what}, {"fate", "lost"}}, count.lost);
  }
  out->push_back(records.Take());
  out->push_back(Keyed("phantom_agent_late_total",
                       "News that came behind the watermark, too late for verdicts, by kind.",
                       "what", status.late));
  Family synced("phantom_agent_feed_synced", MetricType::Gauge,
                "1 while the list of this Kubernetes feed is complete and its watch runs, else 0.");
  Family relists("phantom_agent_relists_total", MetricType::Counter,
                 "How often this Kubernetes feed had to be listed anew.");
  for (const FeedStatus& feed : status.feeds) {
    synced.Gauge({{"feed", NameOf(feed.feed)}}, feed.synced ? 1 : 0);
    relists.Count({{"feed", NameOf(feed.feed)}}, feed.relists);
  }
  out->push_back(synced.Take());
  out->push_back(relists.Take());
  Family polls("phantom_agent_admin_poll_seconds", MetricType::Histogram,
               "From sending a request to a proxy's admin API to its whole answer, in seconds.");
  const DurationHistogram& h = health.admin_polls;
  if (!h.buckets.empty()) polls.Observe({}, h.bounds, h.buckets, h.sum_seconds, h.count);
  out->push_back(polls.Take());
  Family errors("phantom_agent_admin_poll_errors_total", MetricType::Counter,
                "Polls of a proxy's admin API that failed.");
  errors.Count({}, health.admin_poll_errors);
  out->push_back(errors.Take());
  Family proxies("phantom_agent_proxies", MetricType::Gauge,
                 "Proxies on this node, by whether their admin API told what they believe.");
  proxies.Gauge({{"belief", "present"}}, status.proxies - status.proxies_without_belief);
  proxies.Gauge({{"belief", "absent"}}, status.proxies_without_belief);
  out->push_back(proxies.Take());
  out->push_back(Keyed("phantom_agent_skipped_total",
                       "Input that could not be understood and was skipped, by its source.",
                       "source", health.skipped));
  out->push_back(Keyed("phantom_agent_mailbox_blocked_total",
                       "How often a sender had to wait for room in a mailbox.", "mailbox",
                       health.mailbox_blocked));
  Family held("phantom_agent_held", MetricType::Gauge, "Attempts that wait for news.");
  held.Gauge({}, static_cast<double>(status.held));
  out->push_back(held.Take());
  out->push_back(Keyed("phantom_agent_not_judged_total",
                       "Connects that have no caller of their own and are counted apart.",
                       "initiator", status.not_judged_by_initiator));
  Family dropped("phantom_agent_connections_dropped_total", MetricType::Counter,
                 "Judged connections pushed out of the bounded ring; the counters keep them.");
  dropped.Count({}, status.connections_dropped);
  out->push_back(dropped.Take());
  Family build("phantom_agent_build_info", MetricType::Gauge,
               "Always 1; the labels tell which agent this is.");
  build.Gauge({{"version", status.agent_version}, {"node", status.node_name}}, 1);
  out->push_back(build.Take());
}

}  // namespace

std::vector<MetricFamily> CollectMetrics(const Report& report, const AgentHealth& health) {
  const MetricCells& cells = report.metrics;
  std::vector<MetricFamily> out = {Attempts(cells), Connections(cells), Waits(cells),
                                   Windows(cells), Stale(cells)};
  CollectAgent(report.status, health, &out);
  // A family without series is a HELP line about nothing.
  std::erase_if(out, [](const MetricFamily& family) { return family.metric.empty(); });
  return out;
}

}  // namespace phantomd
