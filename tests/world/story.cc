#include "tests/world/story.h"

#include <algorithm>

#include "agent/verdict/names.h"
#include "fmt/format.h"

namespace phantomd::world {
namespace {

constexpr Nanos kAround = std::chrono::seconds(90);
constexpr Nanos kNear = std::chrono::seconds(5);  // of other attempts

double At(BootTime t) { return SecondsOf(t - BootTime()); }
double AtWall(WallTime t) {
  return t.is_set() ? SecondsOf(WallOffset(kWallBase).ToBoot(t) - BootTime()) : 0;
}

std::string Line(const PodChange& c, const IpAddr& ip, const std::vector<PodUid>& uids) {
  const bool about = std::find(c.ips.begin(), c.ips.end(), ip) != c.ips.end() ||
                     std::find(uids.begin(), uids.end(), c.pod.uid) != uids.end();
  if (!about) return "";
  return fmt::format(
      "pod {} {} rev {} on {}{} ips {} phase {} ready {} requested {:.0f} finished {:.0f} "
      "created {:.0f}{} {}",
      c.pod.uid.value(), c.pod.name, c.pod.revision, c.pod.node_name, c.deleted ? " DELETED" : "",
      c.ips.empty() ? "-" : c.ips[0].ToString(), static_cast<int>(c.phase), c.ready,
      AtWall(c.deletion_requested), AtWall(c.containers_finished), AtWall(c.created),
      c.not_before.is_set() ? fmt::format(" not before {:.3f}", At(c.not_before)) : "",
      c.departure_reason);
}

std::string Line(const SliceChange& c, const IpAddr& ip) {
  std::string out = fmt::format("slice {}/{}{}:", c.ns, c.name, c.deleted ? " DELETED" : "");
  for (const SliceChange::Endpoint& e : c.endpoints) {
    if (std::find(e.addresses.begin(), e.addresses.end(), ip) == e.addresses.end()) continue;
    out += fmt::format(" {} ready {} serving {} terminating {}", e.pod_uid.value(), e.ready,
                       e.serving, e.terminating);
  }
  return out;
}

std::string Line(const BeliefSnapshot& s, const SocketAddr& address) {
  std::string out = fmt::format("poll {} requested {:.3f}{}{}", s.proxy_id.value(), At(s.requested),
                                s.complete ? " complete" : "", s.error);
  for (const BeliefSnapshot::Cluster& cluster : s.clusters) {
    out += fmt::format(" [{} discovery {}", cluster.name, static_cast<int>(cluster.discovery));
    for (const BeliefSnapshot::Endpoint& e : cluster.endpoints) {
      if (e.address.ip != address.ip) continue;
      out += fmt::format(" {} assigned {} pending {} connects {}", e.address.ToString(),
                         e.in_assignment, e.pending_removal, e.connects);
    }
    out += "]";
  }
  return out;
}

std::string Holders(const char* what, const Holder& holder) {
  if (holder.pod.uid.empty()) return "";
  return fmt::format("\n  {} {}: acquired {:.3f} withdrawn {:.3f} released {:.3f} to {:.3f} ({})",
                     what, holder.pod.uid.value(), At(holder.acquired), At(holder.withdrawn),
                     At(holder.released_not_before), At(holder.released_not_after),
                     holder.evidence);
}

std::string TrueOf(const char* what, const Pod* pod) {
  if (pod == nullptr) return "";
  return fmt::format(
      "\n  truly {} {} {} on {}: acquired {:.3f} withdrawn {:.3f} requested {:.3f} died {:.3f}",
      what, pod->ref.uid.value(), pod->ref.name, pod->ref.node_name, At(pod->acquired),
      At(pod->withdrawn_at), At(pod->deletion_requested), At(pod->died));
}

}  // namespace

std::string TextOf(const Found& found) {
  std::string out = fmt::format("{} in {} seed {}", NameOf(found.finding),
                                found.world.scenario().name, found.world.seed());
  if (!found.text.empty()) out += " " + found.text;
  if (found.truth == nullptr) return out + "\n";
  const TrueAttempt& truth = *found.truth;
  const Connection& said = *found.said;
  const Attempt& attempt = truth.attempt;
  out += fmt::format(
      "\n  {} {} SYN {:.3f} end {:.3f} {} retransmits {} initiator {}{}"
      "\n  true {} {}, said {} {} {} reason {} cluster {}",
      attempt.proxy_id.value(), attempt.destination.ToString(), At(attempt.started),
      At(attempt.ended), NameOf(attempt.outcome), attempt.syn_retransmits,
      NameOf(attempt.initiator), found.world.InGap(attempt.started) ? " in a gap" : "",
      NameOf(truth.destination), NameOf(truth.cause), NameOf(said.destination_class),
      said.certainty == Certainty::kCertain ? "CERTAIN" : "INFERRED", NameOf(said.cause),
      static_cast<int>(said.unknown_reason), said.cluster);
  out += Holders("last holder", said.last_holder) + Holders("holder", said.current_holder);
  out += TrueOf("meant", truth.meant);
  if (truth.holder != truth.meant) out += TrueOf("held by", truth.holder);
  std::vector<PodUid> uids;
  for (const Pod* pod : {truth.meant, truth.holder}) {
    if (pod != nullptr) uids.push_back(pod->ref.uid);
  }
  std::string last_belief;
  for (const Input& input : found.world.inputs()) {
    if (input.observed < attempt.started - kAround || input.observed > attempt.started + kAround) {
      continue;
    }
    std::string line;
    if (const auto* pod = std::get_if<PodChange>(&input.value)) {
      line = Line(*pod, attempt.destination.ip, uids);
    } else if (const auto* slice = std::get_if<SliceChange>(&input.value)) {
      line = Line(*slice, attempt.destination.ip);
      if (line.back() == ':') continue;
    } else if (const auto* poll = std::get_if<BeliefSnapshot>(&input.value)) {
      if (poll->proxy_id != attempt.proxy_id) continue;
      const bool about = std::any_of(
          poll->clusters.begin(), poll->clusters.end(), [&](const BeliefSnapshot::Cluster& c) {
            return std::any_of(c.endpoints.begin(), c.endpoints.end(),
                               [&](const auto& e) { return e.address == attempt.destination; });
          });
      const bool near = input.observed > attempt.started - Span(0.6) &&
                        input.observed < attempt.ended + Span(0.6);
      if (!about && !near) continue;
      if (input.observed < attempt.started - Span(16) || input.observed > attempt.ended + Span(8)) {
        continue;
      }
      line = Line(*poll, attempt.destination);
    } else if (const auto* feed = std::get_if<FeedChange>(&input.value)) {
      line = fmt::format("feed {} {} good until {:.3f}", static_cast<int>(feed->feed),
                         feed->state == FeedState::kSynced ? "synced" : "BROKEN",
                         At(feed->good_until));
    } else if (const auto* end = std::get_if<PodEnd>(&input.value)) {
      if (std::find(uids.begin(), uids.end(), end->pod_uid) == uids.end()) continue;
      line = fmt::format("pod end {} at {:.3f}", end->pod_uid.value(), At(end->ended));
    } else if (const auto* node = std::get_if<NodeChange>(&input.value)) {
      const auto on_node = [&](const Pod* pod) {
        return pod != nullptr && pod->ref.node_name == node->name;
      };
      if (!on_node(truth.meant) && !on_node(truth.holder)) continue;
      line = fmt::format("node {} ready {} deleted {} heartbeat {:.0f}", node->name, node->ready,
                         node->deleted, AtWall(node->last_heartbeat));
    } else if (const auto* other = std::get_if<Attempt>(&input.value)) {
      if (other->destination != attempt.destination) continue;
      const Nanos apart = other->started - attempt.started;
      if (apart > kNear || apart < -kNear) continue;
      line = fmt::format("attempt {} SYN {:.3f} {} retransmits {}", other->proxy_id.value(),
                         At(other->started), NameOf(other->outcome), other->syn_retransmits);
    }
    if (!line.empty()) out += fmt::format("\n    {:.3f} {}", At(input.observed), line);
  }
  return out + "\n";
}

}  // namespace phantomd::world
