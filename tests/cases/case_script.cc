#include "tests/cases/case_script.h"

#include <algorithm>
#include <cmath>

#include "agent/base/check.h"
#include "fmt/format.h"
#include "tests/testing/words.h"

namespace phantomd::testing {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr uint16_t kPort = 8080;
constexpr double kPollTime = 0.004;
constexpr double kRecordDelay = 0.02;

BootTime At(double seconds) { return BootTime::FromNanos(std::llround(seconds * 1e9)); }

// "key=value"; the value is empty where the word has none.
std::pair<std::string_view, std::string_view> KeyValue(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return {word, {}};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

template <typename Value>
Value Named(std::string_view name, const std::map<std::string_view, Value>& names) {
  const auto found = names.find(name);
  PHANTOMD_CHECK(found != names.end());
  return found->second;
}

// Removes "prefix" from the front of `text`, if it is there.
bool Cut(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

}  // namespace

CaseScript::CaseScript() {
  header.offset = WallOffset(std::chrono::seconds(1'800'000'000));
  header.node_name = "n1";
  header.agent_version = "case";
}

CaseScript& CaseScript::Tell(std::string_view lines) {
  for (const std::string& line : Split(lines, '\n')) {
    const Words words = Split(line, ' ');
    if (words.empty()) continue;
    PHANTOMD_CHECK(words.size() >= 2 && words[0][0] == '@');
    const std::string_view when = std::string_view(words[0]).substr(1);
    const size_t dots = when.find("..");
    if (dots == std::string_view::npos) {
      TellLine(words, Number(when));
      continue;
    }
    const size_t slash = when.find('/');
    const double from = Number(when.substr(0, dots));
    const double to = Number(when.substr(dots + 2, slash - dots - 2));
    const double step = Number(when.substr(slash + 1));
    for (int i = 0; from + i * step < to - 1e-6; ++i) TellLine(words, from + i * step);
  }
  return *this;
}

std::vector<Input> CaseScript::Inputs() const {
  std::vector<Input> inputs = inputs_;
  std::stable_sort(inputs.begin(), inputs.end(),
                   [](const Input& a, const Input& b) { return a.observed < b.observed; });
  return inputs;
}

void CaseScript::TellLine(const Words& words, double at) {
  const std::string& verb = words[1];
  if (verb == "pod") return TellPod(words, at);
  if (verb == "slice") return TellSlice(words, at);
  if (verb == "node") return TellNode(words, at);
  if (verb == "proxy") return TellProxy(words, at);
  if (verb == "poll") return TellPoll(words, at);
  if (verb == "connect") return TellConnect(words, at);
  if (verb == "close") return TellClose(words, at);
  if (verb == "tick") return Add(at, ClockChange{header.offset});
  if (verb == "end") {
    return Add(at, PodEnd{.pod_uid = pods_.at(words[2]).pod.uid,
                          .ips = pods_.at(words[2]).ips,
                          .ended = At(Number(KeyValue(words[3]).second)),
                          .evidence = "network namespace"});
  }
  PHANTOMD_CHECK(verb == "sync");
  for (const Feed feed : {Feed::kPods, Feed::kSlices, Feed::kNodes}) {
    Add(at, FeedChange{feed, FeedState::kSynced});
  }
}

void CaseScript::TellPod(const Words& words, double at) {
  const auto [known, added] = pods_.try_emplace(words[2]);
  PodChange& pod = known->second;
  if (added) {
    pod.pod = {.uid = PodUid("uid-" + words[2]),
               .ns = "shop",
               .name = words[2],
               .workload = {"shop", "Deployment", "catalog"},
               .revision = "v1",
               .node_name = "n1"};
    pod.phase = PodPhase::kRunning;
    pod.ready = true;
    pod.created = Wall(fmt::format("{}", at));
  }
  for (size_t i = 3; i < words.size(); ++i) {
    const auto [key, value] = KeyValue(words[i]);
    if (key == "ip") {
      pod.ips = {Address(value).ip};
    } else if (key == "created") {
      pod.created = Wall(value);
    } else if (key == "del") {
      pod.deletion_requested = Wall(value);
    } else if (key == "fin") {
      pod.containers_finished = Wall(value);
      pod.ready = false;
    } else if (key == "phase") {
      pod.phase = Named<PodPhase>(
          value, {{"Succeeded", PodPhase::kSucceeded}, {"Failed", PodPhase::kFailed}});
    } else if (key == "wl") {
      const std::vector<std::string> parts = Split(value, '/');
      pod.pod.workload = {"shop", parts.at(0), parts.at(1)};
    } else if (key == "rev") {
      pod.pod.revision = value;
    } else if (key == "node") {
      pod.pod.node_name = value;
    } else {
      PHANTOMD_CHECK(key == "deleted");
      pod.deleted = true;
    }
  }
  Add(at, pod);
}

void CaseScript::TellSlice(const Words& words, double at) {
  SliceChange slice{.ns = "shop", .name = words[2], .service = words[3]};
  slice.ports = {{.name = "http", .port = kPort}};
  for (size_t i = 4; i < words.size(); ++i) {
    const std::vector<std::string> parts = Split(words[i], ':');
    SliceChange::Endpoint& endpoint = slice.endpoints.emplace_back();
    if (const auto pod = pods_.find(parts[0]); pod != pods_.end()) {
      endpoint.pod_uid = pod->second.pod.uid;
    }
    endpoint.addresses = {Address(parts[0]).ip};
    const std::string state = parts.size() > 1 ? parts[1] : "ready";
    PHANTOMD_CHECK(state == "ready" || state == "unready" || state == "terminating");
    endpoint.ready = state == "ready";
    endpoint.serving = state != "unready";
    endpoint.terminating = state == "terminating";
  }
  Add(at, slice);
}

void CaseScript::TellNode(const Words& words, double at) {
  NodeChange& node = nodes_[words[2]];
  node.name = words[2];
  node.last_heartbeat = Wall(fmt::format("{}", at));
  for (size_t i = 3; i < words.size(); ++i) {
    const auto [key, value] = KeyValue(words[i]);
    if (key == "ready") node.ready = true;
    if (key == "addr") node.addresses = {Address(value).ip};
    if (key == "cidr") node.pod_cidrs = {std::string(value)};
  }
  Add(at, node);
}

void CaseScript::TellProxy(const Words& words, double at) {
  ProxyChange change;
  change.proxy.id = ProxyId(words[2]);
  change.proxy.name = words[2];
  if (const auto pod = pods_.find(words[2]); pod != pods_.end()) {
    change.proxy.pod.uid = pod->second.pod.uid;
  }
  if (words.at(3) == "gone") {
    change.gone = true;
  } else {
    change.proxy.role = Named<ProxyRole>(words[3], {{"sidecar", ProxyRole::kSidecar},
                                                    {"gateway", ProxyRole::kGateway},
                                                    {"ztunnel", ProxyRole::kZtunnel}});
  }
  Add(at, change);
}

void CaseScript::TellPoll(const Words& words, double at) {
  BeliefSnapshot snapshot;
  snapshot.proxy_id = ProxyId(words[2]);
  snapshot.requested = At(at - kPollTime);
  snapshot.received = At(at);
  snapshot.complete = true;
  for (size_t i = 3; i < words.size(); ++i) {
    auto [name, addresses] = KeyValue(words[i]);
    BeliefSnapshot::Cluster& cluster = snapshot.clusters.emplace_back();
    cluster.discovery = Discovery::kEds;
    if (Cut(name, "dns:")) cluster.discovery = Discovery::kStrictDns;
    if (Cut(name, "static:")) cluster.discovery = Discovery::kStatic;
    if (Cut(name, "dst:")) cluster.discovery = Discovery::kOriginalDst;
    cluster.layer = name.ends_with("/L7") ? Layer::kL7 : Layer::kL4;
    name = name.substr(0, name.find('/'));
    if (name == "PassthroughCluster") {
      cluster.name = name;
    } else {
      cluster.name = fmt::format("outbound|{}||{}.shop.svc.cluster.local", kPort, name);
      cluster.service = fmt::format("shop/{}", name);
    }
    for (const std::string& word : Split(addresses, ',')) {
      std::string_view text = word;
      BeliefSnapshot::Endpoint& endpoint = cluster.endpoints.emplace_back();
      endpoint.pending_removal = Cut(text, "~");
      endpoint.in_assignment = !endpoint.pending_removal;
      endpoint.in_host_set = true;
      if (const size_t bang = text.find('!'); bang != std::string_view::npos) {
        endpoint.mesh_cluster = text.substr(0, bang);
        text.remove_prefix(bang + 1);
      }
      endpoint.address = Address(text);
    }
  }
  Add(at, snapshot);
}

void CaseScript::TellConnect(const Words& words, double at) {
  Attempt attempt;
  attempt.proxy_id = ProxyId(words[2]);
  attempt.initiator = Initiator::kProxy;
  attempt.source = {IpAddr::V4(10, 9, 0, 1), static_cast<uint16_t>(20000 + cookie_ % 40000)};
  attempt.destination = Address(words[3]);
  attempt.started = At(at);
  attempt.outcome = Named<Outcome>(words.at(4), {{"established", Outcome::kEstablished},
                                                 {"refused", Outcome::kRefused},
                                                 {"abandoned", Outcome::kAbandoned},
                                                 {"unreachable", Outcome::kUnreachable}});
  double seconds = 0.001;
  for (size_t i = 5; i < words.size(); ++i) {
    const auto [key, value] = KeyValue(words[i]);
    if (key == "for") {
      seconds = Number(value);
    } else if (key == "retries") {
      attempt.syn_retransmits = static_cast<uint32_t>(Number(value));
    } else {
      PHANTOMD_CHECK(key == "by");
      attempt.initiator = Named<Initiator>(
          value, {{"app", Initiator::kApplication}, {"control", Initiator::kProxyControl}});
    }
  }
  attempt.ended = At(at + seconds);
  attempt.socket_cookie = ++cookie_;
  Add(at + seconds + kRecordDelay, attempt);
}

void CaseScript::TellClose(const Words& words, double at) {
  Add(at, ConnectionEnd{.socket_cookie = ++cookie_,
                        .ended = At(at),
                        .how = Named<ConnectionEnd::How>(
                            words.at(4), {{"closed", ConnectionEnd::How::kClosed},
                                          {"reset", ConnectionEnd::How::kReset},
                                          {"stalled", ConnectionEnd::How::kStalled},
                                          {"expired", ConnectionEnd::How::kExpired}}),
                        .proxy_id = ProxyId(words[2]),
                        .destination = Address(words[3]),
                        .established = At(Number(KeyValue(words.at(5)).second)),
                        .initiator = Initiator::kProxy});
}

WallTime CaseScript::Wall(std::string_view seconds) const {
  const int64_t nanos = header.offset.ToWall(At(Number(seconds))).nanos();
  return WallTime::FromNanos(nanos - nanos % kSecond);
}

SocketAddr CaseScript::Address(std::string_view pod_or_ip) const {
  if (const auto pod = pods_.find(std::string(pod_or_ip)); pod != pods_.end()) {
    return {pod->second.ips.at(0), kPort};
  }
  const auto ip = IpAddr::Parse(pod_or_ip);
  PHANTOMD_CHECK(ip.ok());
  return {*ip, kPort};
}

void CaseScript::Add(double at, decltype(Input::value) value) {
  inputs_.push_back({At(at), std::move(value)});
}

}  // namespace phantomd::testing
