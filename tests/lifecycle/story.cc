#include "tests/lifecycle/story.h"

#include <cmath>
#include <cstdlib>

#include "agent/base/check.h"
#include "fmt/format.h"
#include "tests/testing/words.h"

namespace phantomd::testing {
namespace {

WallTime Wall(std::string_view text) { return WallTime::FromNanos(At(Number(text)).nanos()); }

// "key=value"; the value is empty where the word has none.
std::pair<std::string_view, std::string_view> KeyValue(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return {word, {}};
  return {word.substr(0, equals), word.substr(equals + 1)};
}

std::string Show(BootTime t) {
  if (t == BootTime::Max() || t == BootTime::Min()) return "-";
  return fmt::format("{:g}", static_cast<double>(t.nanos()) / 1e9);
}

}  // namespace

BootTime At(double seconds) { return BootTime::FromNanos(std::llround(seconds * 1e9)); }

IpAddr Ip(std::string_view text) {
  const auto ip = IpAddr::Parse(text);
  PHANTOMD_CHECK(ip.ok());
  return *ip;
}

PodUid UidOf(std::string_view pod) { return PodUid(fmt::format("uid-{}", pod)); }

std::string Show(const TimeBounds& bounds) {
  return fmt::format("[{} {}]", Show(bounds.not_before), Show(bounds.not_after));
}

Lifecycle::Options Story::DefaultOptions() {
  Lifecycle::Options options;
  options.feed_delay = std::chrono::seconds(2);
  options.typical_delay = std::chrono::milliseconds(100);
  options.clock_error = std::chrono::milliseconds(500);
  options.node_name = "n1";
  return options;
}

Story::Story(std::string_view lines, Lifecycle::Options options)
    : lifecycle_(std::make_unique<Lifecycle>(std::move(options), WallOffset())) {
  Tell(lines);
}

TouchedAddresses Story::Tell(std::string_view lines) {
  TouchedAddresses touched;
  for (const std::string& line : Split(lines, '\n')) {
    const std::vector<std::string> words = Split(line, ' ');
    if (!words.empty()) touched = TellLine(words);
  }
  return touched;
}

TouchedAddresses Story::TellLine(const std::vector<std::string>& words) {
  PHANTOMD_CHECK(words.size() >= 2 && words[0][0] == '@');
  const BootTime at = At(Number(std::string_view(words[0]).substr(1)));
  const std::string& verb = words[1];
  if (verb == "pod") return TellPod(words, at);
  if (verb == "slice") return TellSlice(words, at);
  if (verb == "node") return TellNode(words, at);
  if (verb == "end") {
    PodEnd end{.pod_uid = UidOf(words[2]), .evidence = "last process"};
    for (size_t i = 3; i < words.size(); ++i) {
      const auto [key, value] = KeyValue(words[i]);
      if (key == "at") end.ended = At(Number(value));
      if (key == "ip") end.ips.push_back(Ip(value));
    }
    return lifecycle_->Apply(end, at);
  }
  if (verb == "sync") {
    for (const Feed feed : {Feed::kPods, Feed::kSlices, Feed::kNodes}) {
      lifecycle_->Apply(FeedChange{feed, FeedState::kSynced}, at);
    }
    return {};
  }
  PHANTOMD_CHECK(verb == "broken" || verb == "synced");
  FeedChange change;
  change.feed = words[2] == "pods"     ? Feed::kPods
                : words[2] == "slices" ? Feed::kSlices
                                       : Feed::kNodes;
  change.state = verb == "broken" ? FeedState::kBroken : FeedState::kSynced;
  if (words.size() > 3) change.good_until = At(Number(KeyValue(words[3]).second));
  lifecycle_->Apply(change, at);
  return {};
}

TouchedAddresses Story::TellPod(const std::vector<std::string>& words, BootTime at) {
  const auto [known, added] = pods_.try_emplace(words[2]);
  PodChange& pod = known->second;
  if (added) {
    pod.pod = {.uid = UidOf(words[2]),
               .ns = "shop",
               .name = words[2],
               .workload = {"shop", "Deployment", "catalog"},
               .revision = "r1",
               .node_name = "n1"};
    pod.phase = PodPhase::kRunning;
  }
  for (size_t i = 3; i < words.size(); ++i) {
    const auto [key, value] = KeyValue(words[i]);
    if (key == "ip") {
      pod.ips.clear();
      for (const std::string& ip : Split(value, ',')) pod.ips.push_back(Ip(ip));
    } else if (key == "noip") {
      pod.ips.clear();
    } else if (key == "created") {
      pod.created = Wall(value);
    } else if (key == "del") {
      pod.deletion_requested = Wall(value);
    } else if (key == "fin") {
      pod.containers_finished = value.empty() ? WallTime() : Wall(value);
    } else if (key == "phase") {
      pod.phase = value == "Failed"      ? PodPhase::kFailed
                  : value == "Succeeded" ? PodPhase::kSucceeded
                  : value == "Pending"   ? PodPhase::kPending
                                         : PodPhase::kRunning;
    } else if (key == "reason") {
      pod.departure_reason = value;
    } else if (key == "hostnet") {
      pod.host_network = true;
    } else if (key == "wl") {
      const std::vector<std::string> parts = Split(value, '/');
      pod.pod.workload =
          parts.size() == 2 ? WorkloadRef{"shop", parts[0], parts[1]} : WorkloadRef();
    } else if (key == "name") {
      pod.pod.name = value;
    } else if (key == "rev") {
      pod.pod.revision = value;
    } else if (key == "node") {
      pod.pod.node_name = value;
    } else if (key == "deleted") {
      pod.deleted = true;
    } else if (key == "back") {
      pod.deleted = false;
      pod.not_before = BootTime();
    } else if (key == "since") {
      pod.not_before = At(Number(value));
    } else {
      PHANTOMD_CHECK(false && "unknown word of a pod line");
    }
  }
  return lifecycle_->Apply(pod, at);
}

TouchedAddresses Story::TellSlice(const std::vector<std::string>& words, BootTime at) {
  SliceChange slice;
  slice.ns = "shop";
  slice.name = words[2];
  if (words.size() > 3 && words[3] == "gone") {
    slice.deleted = true;
    slice.service = services_[slice.name];
    return lifecycle_->Apply(slice, at);
  }
  slice.service = services_[slice.name] = words[3];
  for (size_t i = 4; i < words.size(); ++i) {
    const std::vector<std::string> parts = Split(words[i], ':');
    SliceChange::Endpoint& endpoint = slice.endpoints.emplace_back();
    if (const auto pod = pods_.find(parts[0]); pod != pods_.end()) {
      endpoint.pod_uid = pod->second.pod.uid;
      endpoint.addresses = pod->second.ips;
    } else if (const size_t slash = parts[0].find('/'); slash != std::string::npos) {
      // "pod/address": a pod that the pod feed has not told, or another address of one.
      endpoint.pod_uid = UidOf(parts[0].substr(0, slash));
      endpoint.addresses = {Ip(parts[0].substr(slash + 1))};
    } else {
      endpoint.addresses = {Ip(parts[0])};
    }
    const std::string state = parts.size() > 1 ? parts[1] : "ready";
    PHANTOMD_CHECK(state == "ready" || state == "unready" || state == "terminating");
    endpoint.ready = state == "ready";
    endpoint.serving = state != "unready";
    endpoint.terminating = state == "terminating";
  }
  return lifecycle_->Apply(slice, at);
}

TouchedAddresses Story::TellNode(const std::vector<std::string>& words, BootTime at) {
  NodeChange& node = nodes_[words[2]];
  node.name = words[2];
  node.deleted = false;
  for (size_t i = 3; i < words.size(); ++i) {
    const auto [key, value] = KeyValue(words[i]);
    if (key == "ready") node.ready = true;
    if (key == "notready") node.ready = false;
    if (key == "gone") node.deleted = true;
    if (key == "lease") node.last_heartbeat = Wall(value);
    if (key == "addr") node.addresses = {Ip(value)};
    if (key == "cidr") node.pod_cidrs = {std::string(value)};
  }
  return lifecycle_->Apply(node, at);
}

std::string Story::Who(std::string_view ip, double t) const {
  const AddressFacts facts = lifecycle_->At(Ip(ip), At(t));
  if (facts.before_horizon) return "before horizon";
  std::string who;
  const auto add = [&](std::string_view word) {
    if (!who.empty()) who += ' ';
    who += word;
  };
  for (const PossibleHolder& holder : facts.holders) {
    const PodRef* ref = holder.tenancy.ref.get();
    const std::string name =
        ref->name.empty() ? std::string(ref->uid.value().substr(4)) : ref->name;
    add(fmt::format("{}{}{}", name, holder.sure ? "!" : "?",
                    !holder.may_be_withdrawn   ? ""
                    : holder.may_be_in_service ? "~"
                                               : "-"));
  }
  if (facts.nobody) add("nobody");
  switch (facts.untold) {
    case UntoldReason::kNone:
      break;
    case UntoldReason::kBeforeFirstSync:
      add("early");
      break;
    case UntoldReason::kFeedBroken:
      add("gap");
      break;
    case UntoldReason::kAddressUntold:
      add("untold");
      break;
  }
  return who;
}

PodHandle Story::Pod(std::string_view name) const { return lifecycle_->FindPod(UidOf(name)); }

std::string Story::Released(std::string_view pod) const {
  return testing::Show(lifecycle_->ReleasedBounds(Pod(pod)));
}

std::string Story::Withdrawn(std::string_view pod) const {
  return testing::Show(lifecycle_->WithdrawnBounds(Pod(pod)));
}

std::string Story::Change(std::string_view pod, double now) const {
  const WorkloadChange* change = lifecycle_->ChangeOf(Pod(pod), At(now));
  if (change == nullptr) return "none";
  std::string text = change->name + ":";
  for (const PodHandle handle : change->pods) text += " " + lifecycle_->Pod(handle)->name;
  return text;
}

std::string Describe(const AddressFacts& facts) {
  const auto tenancy = [](const TenancyFacts& t) {
    return t.ref.is_null()
               ? std::string("none")
               : fmt::format("{} acquired {} released {} likely {} {} by {}", t.ref->uid.value(),
                             Show(t.acquired), Show(t.released), Show(t.likely_acquired),
                             Show(t.likely_released), t.evidence);
  };
  std::string text;
  for (const PossibleHolder& holder : facts.holders) {
    text += fmt::format("{} sure={} in={} out={} withdrawn {} likely {} end_untold={}\n",
                        tenancy(holder.tenancy), holder.sure, holder.may_be_in_service,
                        holder.may_be_withdrawn, Show(holder.withdrawn),
                        Show(holder.likely_withdrawn), holder.end_untold);
  }
  text += fmt::format(
      "nobody={} untold={} before_horizon={} pods_broken={} slices_broken={}\nlast {}\n"
      "ever={} other={} complete={} node={} manual={} listed={} range={} known={} no_pod={}",
      facts.nobody, static_cast<int>(facts.untold), facts.before_horizon, facts.pods_broken,
      facts.slices_broken, tenancy(facts.last), facts.ever_held, facts.other_holder_known,
      facts.history_complete, facts.node_address, facts.listed_without_pod, facts.listed_with_pod,
      facts.in_pod_range, facts.pod_ranges_known, facts.no_pod_address);
  return text;
}

}  // namespace phantomd::testing
