#include "agent/serve/answers.h"

#include <fmt/format.h>

#include "agent/serve/filter.h"
#include "agent/serve/paging.h"
#include "agent/serve/request_time.h"
#include "agent/wire/noun_wire.h"
#include "agent/wire/report_wire.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;

// What a page token is bound to. The agent's start is part of it: connections are numbered anew
// after a restart.
std::string ListName(const Report& report, std::string_view method, std::string_view filter = "") {
  return fmt::format("{}\n{}\n{}", method, report.status.started.nanos(), filter);
}

template <typename Item>
std::vector<const Item*> Pointers(const std::vector<Item>& items) {
  std::vector<const Item*> out;
  out.reserve(items.size());
  for (const Item& item : items) out.push_back(&item);
  return out;
}

// Keys of several parts: a NUL between them sorts before every character of a name.
std::string Key(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out.append(part).push_back('\0');
  return out;
}

std::string RolloutKey(const RolloutReport& rollout) {
  return DescendingKey(static_cast<uint64_t>(rollout.started.nanos())) + rollout.name;
}

}  // namespace

void AnswerStatus(const Report& report, const AgentHealth& health, pb::Status* out) {
  ReportEncoder(report).Encode(report.status, out);
  // The encoder keeps the order of the feeds.
  for (size_t i = 0; i < report.status.feeds.size(); ++i) {
    const auto error = health.feed_errors.find(report.status.feeds[i].feed);
    if (error == health.feed_errors.end()) continue;
    out->mutable_feeds(static_cast<int>(i))->set_error(WireText(error->second));
  }
  for (const std::string& sentence : health.limitations) {
    out->add_limitations(WireText(sentence));
  }
}

absl::Status AnswerProxies(const Report& report, const pb::ListProxiesRequest& request,
                           pb::ListProxiesResponse* out) {
  const std::string list = ListName(report, "ListProxies");
  const auto page = ParsePageRequest(request.page_size(), request.page_token(), list);
  if (!page.ok()) return page.status();
  const ReportEncoder encoder(report);
  out->set_next_page_token(ShowPage(
      Pointers(report.proxies), *page, list,
      [](const ProxyReport& p) {
        return Key({p.proxy.name, p.proxy.id.value()});
      },
      [&](const ProxyReport& p) { encoder.Encode(p, out->add_proxies()); }));
  return absl::OkStatus();
}

absl::Status AnswerRollouts(const Report& report, const pb::ListRolloutsRequest& request,
                            pb::ListRolloutsResponse* out) {
  const auto filter = RolloutFilter::Parse(request.filter());
  if (!filter.ok()) return filter.status();
  const std::string list = ListName(report, "ListRollouts", request.filter());
  const auto page = ParsePageRequest(request.page_size(), request.page_token(), list);
  if (!page.ok()) return page.status();
  std::vector<const RolloutReport*> matching;
  for (const RolloutReport& rollout : report.rollouts) {
    if (filter->Matches(rollout)) matching.push_back(&rollout);
  }
  const ReportEncoder encoder(report);
  out->set_next_page_token(
      ShowPage(matching, *page, list, RolloutKey, [&](const RolloutReport& rollout) {
        encoder.Encode(rollout, ReportEncoder::Windows::kWithout, out->add_rollouts());
      }));
  return absl::OkStatus();
}

absl::Status AnswerRollout(const Report& report, const pb::GetRolloutRequest& request,
                           pb::Rollout* out) {
  if (request.name().empty()) return absl::InvalidArgumentError("name: no rollout is named");
  for (const RolloutReport& rollout : report.rollouts) {
    if (rollout.name != request.name()) continue;
    ReportEncoder(report).Encode(rollout, ReportEncoder::Windows::kWith, out);
    return absl::OkStatus();
  }
  return absl::NotFoundError(fmt::format("no rollout is named \"{}\"", request.name()));
}

absl::Status AnswerConnections(const Report& report, const pb::ListConnectionsRequest& request,
                               pb::ListConnectionsResponse* out) {
  const auto filter = ConnectionFilter::Parse(request.filter());
  if (!filter.ok()) return filter.status();
  absl::StatusOr<BootTime> start = BootTime::Min();
  if (request.has_start_time()) {
    start = RequestTime("start_time", request.start_time(), report.offset);
    if (!start.ok()) return start.status();
  }
  absl::StatusOr<BootTime> end = BootTime::Max();
  if (request.has_end_time()) {
    end = RequestTime("end_time", request.end_time(), report.offset);
    if (!end.ok()) return end.status();
  }
  // Without an end any start will do: after it there is nothing yet.
  if (request.has_end_time() && *start >= *end) {
    return absl::InvalidArgumentError("start_time: does not lie before end_time");
  }
  const std::string list =
      ListName(report, "ListConnections",
               fmt::format("{}\n{}\n{}", request.filter(), start->nanos(), end->nanos()));
  const auto page = ParsePageRequest(request.page_size(), request.page_token(), list);
  if (!page.ok()) return page.status();

  // Walked from the newest end rather than sorted: the ring is long and already in order.
  const ReportEncoder encoder(report);
  std::string last_key;
  for (auto chunk = report.connections.rbegin(); chunk != report.connections.rend(); ++chunk) {
    for (auto it = (*chunk)->rbegin(); it != (*chunk)->rend(); ++it) {
      const Connection& connection = **it;
      std::string key = DescendingKey(connection.sequence);
      if (key <= page->after) continue;
      if (connection.started < *start || connection.started >= *end) continue;
      if (!filter->Matches(connection, encoder)) continue;
      if (out->connections_size() == static_cast<int>(page->size)) {
        out->set_next_page_token(PageToken(last_key, list));
        return absl::OkStatus();
      }
      encoder.Encode(connection, out->add_connections());
      last_key = std::move(key);
    }
  }
  return absl::OkStatus();
}

absl::Status AnswerStaleEndpoints(const Report& report,
                                  const pb::ListStaleEndpointsRequest& request,
                                  pb::ListStaleEndpointsResponse* out) {
  const std::string list = ListName(report, "ListStaleEndpoints");
  const auto page = ParsePageRequest(request.page_size(), request.page_token(), list);
  if (!page.ok()) return page.status();
  const ReportEncoder encoder(report);
  out->set_next_page_token(ShowPage(
      Pointers(report.stale_endpoints), *page, list,
      [](const StaleEndpointReport& e) {
        return Key({e.proxy_name, e.proxy_id.value(), e.cluster, e.address.ToString()});
      },
      [&](const StaleEndpointReport& e) { encoder.Encode(e, out->add_endpoints()); }));
  return absl::OkStatus();
}

}  // namespace phantomd
