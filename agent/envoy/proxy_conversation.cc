#include "agent/envoy/proxy_conversation.h"

#include <fmt/format.h>

#include <utility>

#include "agent/base/check.h"
#include "agent/base/strings.h"
#include "agent/envoy/config_dump.h"
#include "agent/envoy/host_sets.h"

namespace phantomd {
namespace {

constexpr char kWholeDumpPath[] = "/config_dump?include_eds";
constexpr Nanos kDumpInterval = std::chrono::seconds(60);
// A mask applies to each section of the dump, and those it does not fit are left out.
constexpr char kAssignmentsPath[] =
    "/config_dump?include_eds&mask=static_endpoint_configs,dynamic_endpoint_configs";

}  // namespace

ProxyConversation::ProxyConversation(Proxy proxy, std::vector<SocketAddr> candidates)
    : registered_(std::move(proxy)), candidates_(std::move(candidates)), builder_(registered_.id) {
  PHANTOMD_CHECK(!candidates_.empty());
}

void ProxyConversation::Update(Proxy proxy) {
  PHANTOMD_CHECK(proxy.id == registered_.id);
  registered_ = std::move(proxy);
}

void ProxyConversation::Begin(PollKind kind, BootTime now) {
  kind_ = kind;
  begun_ = now;
  bracket_ = {};
  sets_ = {};
  if (!info_.has_value()) {
    candidate_ = 0;
    refusals_.clear();
    step_ = Step::kServerInfo;
  } else {
    const bool dump_is_old = kind == PollKind::kSlow && now - dumped_ >= kDumpInterval;
    step_ = !dumped_.is_set() || dump_is_old ? Step::kWholeDump : Step::kClusters;
  }
}

ProxyConversation::Request ProxyConversation::Next() const {
  const SocketAddr& at = candidates_[candidate_];
  switch (step_) {
    case Step::kServerInfo:
      return {at, "/server_info"};
    case Step::kWholeDump:
    case Step::kMissingDump:
      return {at, kWholeDumpPath};
    case Step::kClusters:
      return {at, "/clusters?format=json"};
    case Step::kMissingAssignments:
      return {at, kAssignmentsPath};
    case Step::kStats:
      return {at, kUpdateTimesPath};
  }
  PHANTOMD_CHECK(false);
  return {};
}

std::optional<ProxyConversation::Outcome> ProxyConversation::OnReply(AdminReply reply,
                                                                     WallTime received_wall) {
  switch (step_) {
    case Step::kServerInfo:
      return OnServerInfo(reply);
    case Step::kWholeDump:
    case Step::kMissingDump:
    case Step::kMissingAssignments:
      return OnDump(reply);
    case Step::kClusters:
      return OnClusters(reply, received_wall);
    case Step::kStats:
      return OnStats(reply);
  }
  PHANTOMD_CHECK(false);
  return std::nullopt;
}

std::optional<ProxyConversation::Outcome> ProxyConversation::OnServerInfo(const AdminReply& reply) {
  absl::Status status = reply.body.status();
  if (status.ok()) {
    auto info = DecodeServerInfo(*reply.body);
    if (info.ok()) {
      info_ = *std::move(info);
      update_times_ = UpdateTimesKept::kUntold;
      step_ = Step::kWholeDump;
      return std::nullopt;
    }
    status = info.status();
  }
  if (!refusals_.empty()) refusals_ += "; ";
  refusals_ += FromAbsl(status.message());
  if (++candidate_ < candidates_.size()) return std::nullopt;
  candidate_ = 0;
  return Fail(absl::Status(status.code(), refusals_), reply.received);
}

std::optional<ProxyConversation::Outcome> ProxyConversation::OnDump(const AdminReply& reply) {
  const absl::Status& status = reply.body.status();
  if (!status.ok()) {
    if (step_ == Step::kMissingAssignments &&
        status.code() == absl::StatusCode::kFailedPrecondition) {
      eds_mask_works_ = false;
      step_ = Step::kMissingDump;
      return std::nullopt;
    }
    return Fail(status, reply.received);
  }
  auto dump = DecodeConfigDump(*reply.body);
  if (!dump.ok()) return Fail(dump.status(), reply.received);
  if (step_ == Step::kMissingAssignments) {
    builder_.TakeAssignments(dump->assignments);
  } else {
    builder_.TakeWholeDump(*std::move(dump));
    dumped_ = begun_;
  }
  if (step_ == Step::kWholeDump) {
    step_ = Step::kClusters;
    return std::nullopt;
  }
  return AskForStatsOrBuild();
}

std::optional<ProxyConversation::Outcome> ProxyConversation::OnClusters(const AdminReply& reply,
                                                                        WallTime received_wall) {
  if (!reply.body.ok()) return Fail(reply.body.status(), reply.received);
  auto sets = DecodeHostSets(*reply.body);
  if (!sets.ok()) return Fail(sets.status(), reply.received);
  sets_ = *std::move(sets);
  bracket_ = {reply.requested, reply.received, received_wall};
  switch (builder_.NeedFor(sets_)) {
    case BeliefBuilder::Need::kNothing:
      return AskForStatsOrBuild();
    case BeliefBuilder::Need::kAssignments:
      step_ = eds_mask_works_ ? Step::kMissingAssignments : Step::kMissingDump;
      return std::nullopt;
    case BeliefBuilder::Need::kWholeDump:
      step_ = Step::kMissingDump;
      return std::nullopt;
  }
  return std::nullopt;
}

std::optional<ProxyConversation::Outcome> ProxyConversation::AskForStatsOrBuild() {
  if (update_times_ == UpdateTimesKept::kNo || !builder_.HostsChanged(sets_)) return Build({});
  step_ = Step::kStats;
  return std::nullopt;
}

std::optional<ProxyConversation::Outcome> ProxyConversation::OnStats(const AdminReply& reply) {
  if (!reply.body.ok()) {
    // A release without this query (HTTP 404) keeps nothing for us; the belief is whole without it.
    if (reply.body.status().code() != absl::StatusCode::kFailedPrecondition) {
      return Fail(reply.body.status(), reply.received);
    }
    update_times_ = UpdateTimesKept::kNo;
    return Build({});
  }
  const auto times = DecodeUpdateTimes(*reply.body, builder_.stat_names());
  if (!times.ok()) return Fail(times.status(), reply.received);
  update_times_ = times->empty() ? UpdateTimesKept::kNo : UpdateTimesKept::kYes;
  return Build(*times);
}

ProxyConversation::Outcome ProxyConversation::Build(const UpdateTimes& times) {
  Outcome outcome;
  outcome.snapshot = builder_.Build(sets_, times, bracket_);
  outcome.poll_soon = builder_.views_differed();
  outcome.identity = TakeIdentity();
  return outcome;
}

ProxyConversation::Outcome ProxyConversation::Fail(const absl::Status& status, BootTime received) {
  Outcome outcome;
  outcome.status = status;
  outcome.identity = TakeIdentity();
  outcome.snapshot.proxy_id = registered_.id;
  outcome.snapshot.requested = begun_;
  outcome.snapshot.received = received;
  outcome.snapshot.error = FromAbsl(status.message());
  builder_.Forget();
  // Whoever answers next may be another one: ask again who it is.
  info_.reset();
  return outcome;
}

std::optional<ProxyChange> ProxyConversation::TakeIdentity() {
  if (!info_.has_value()) return std::nullopt;
  Proxy identified = Identify(registered_, *info_, candidates_[candidate_]);
  if (posted_ == identified) return std::nullopt;
  posted_ = identified;
  return ProxyChange{std::move(identified), false};
}

std::string ProxyConversation::limitation() const {
  if (update_times_ != UpdateTimesKept::kNo) return {};
  const std::string& name = posted_.has_value() ? posted_->name : registered_.name;
  return fmt::format(
      "{} keeps no update_time statistic of its clusters: changes of its endpoints are dated by "
      "polls alone",
      name.empty() ? registered_.id.value() : name);
}

Proxy Identify(const Proxy& registered, const ServerInfo& info, const SocketAddr& admin) {
  Proxy proxy;
  proxy.id = registered.id;
  proxy.envoy_node_id = info.node_id;
  proxy.envoy_version = info.version;
  proxy.admin_address = admin.ToString();
  // Istio: type~ip~pod.namespace~domain, exactly four parts.
  std::vector<std::string_view> parts;
  for (std::string_view rest = info.node_id;;) {
    const size_t end = rest.find('~');
    parts.push_back(rest.substr(0, end));
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  ProxyRole role = ProxyRole::kUnspecified;
  std::string pod_name;
  if (parts.size() == 4) {
    if (parts[0] == "sidecar") role = ProxyRole::kSidecar;
    if (parts[0] == "router") role = ProxyRole::kGateway;
    if (parts[0] == "waypoint") role = ProxyRole::kWaypoint;
    // A pod's name may contain dots, a namespace's cannot.
    const size_t dot = parts[2].rfind('.');
    if (role != ProxyRole::kUnspecified && dot != std::string_view::npos && dot > 0) {
      pod_name = fmt::format("{}/{}", parts[2].substr(dot + 1), parts[2].substr(0, dot));
    }
  }
  if (role != ProxyRole::kUnspecified) {
    proxy.role = role;
  } else if (registered.pod.uid.empty()) {
    proxy.role = ProxyRole::kStandalone;
  }
  if (!pod_name.empty()) {
    proxy.name = pod_name;
  } else if (!registered.pod.name.empty()) {
    proxy.name = fmt::format("{}/{}", registered.pod.ns, registered.pod.name);
  } else if (!info.node_id.empty()) {
    proxy.name = info.node_id;
  } else if (registered.name.empty()) {
    proxy.name = fmt::format("envoy at {}", proxy.admin_address);
  }
  return proxy;
}

}  // namespace phantomd
