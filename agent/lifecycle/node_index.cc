#include "agent/lifecycle/node_index.h"

#include <algorithm>

#include "agent/base/strings.h"

namespace phantomd {

NodeIndex::Touched NodeIndex::Apply(const NodeChange& change, BootTime observed,
                                    const FeedLog& feed, const TimeRules& rules) {
  Touched touched;
  std::vector<Told>& history = history_[change.name];
  const NodeChange* before = history.empty() ? nullptr : &history.back().change;
  NodeChange now = change;
  if (now.deleted) {
    // The last state comes with the deletion or not at all: nothing of the Node is left.
    now.addresses.clear();
    now.pod_cidrs.clear();
    now.ready = false;
  }
  // Heartbeats alone are not kept: they matter in the state that ends them.
  const bool same = before != nullptr && before->deleted == now.deleted &&
                    before->ready == now.ready && before->addresses == now.addresses &&
                    before->pod_cidrs == now.pod_cidrs;
  if (same) return touched;
  if (before == nullptr && now.deleted) {
    history_.erase(change.name);
    return touched;
  }

  TakeAddresses(before, now, observed, &touched);
  TakeRanges(before, now, observed);

  std::vector<Loss>* losses = nullptr;
  if (const auto it = losses_.find(now.name); it != losses_.end()) losses = &it->second;
  const bool lost = losses != nullptr && losses->back().mended == BootTime::Max();
  if (now.ready && lost) {
    losses->back().mended = observed;
    touched.health = true;
  } else if (!now.ready && !lost) {
    BootTime from = std::min(observed - kNodeGrace, feed.NewsFloor(observed));
    if (now.last_heartbeat.is_set()) {
      // The Lease has microseconds, a condition a second: its truncation only widens.
      from = std::min(observed, rules.offset.ToBoot(now.last_heartbeat) - rules.clock_error);
    } else if (now.not_before.is_set()) {
      from = std::min(from, now.not_before - rules.feed_delay);
    }
    losses_[now.name].push_back({from});
    touched.health = true;
  }
  history.push_back({observed, std::move(now)});
  return touched;
}

void NodeIndex::TakeAddresses(const NodeChange* before, const NodeChange& now, BootTime observed,
                              Touched* touched) {
  const auto holds = [](const NodeChange* node, const IpAddr& ip) {
    return node != nullptr &&
           std::find(node->addresses.begin(), node->addresses.end(), ip) != node->addresses.end();
  };
  if (before != nullptr) {
    for (const IpAddr& ip : before->addresses) {
      if (holds(&now, ip)) continue;
      for (Held& held : addresses_[ip]) {
        if (held.node == now.name && held.to == BootTime::Max()) held.to = observed;
      }
      touched->addresses.push_back(ip);
    }
  }
  for (const IpAddr& ip : now.addresses) {
    if (holds(before, ip)) continue;
    addresses_[ip].push_back({now.name, observed});
    touched->addresses.push_back(ip);
  }
}

void NodeIndex::TakeRanges(const NodeChange* before, const NodeChange& now, BootTime observed) {
  const auto each = [](const NodeChange& node, const auto& visit) {
    for (const std::string& text : node.pod_cidrs) {
      if (const auto prefix = IpPrefix::Parse(text); prefix.ok()) visit(*prefix);
    }
  };
  if (before != nullptr) {
    each(*before, [&](const IpPrefix& range) { ranges_.GiveUp(range, now.name, observed); });
  }
  each(now, [&](const IpPrefix& range) { ranges_.Take(range, now.name); });
}

NodeDoubt NodeIndex::DoubtOf(std::string_view node, const PodFacts& facts) const {
  NodeDoubt doubt;
  if (losses_.empty()) return doubt;
  const auto it = losses_.find(ToAbsl(node));
  if (it == losses_.end()) return doubt;
  for (const Loss& loss : it->second) {
    const auto inside = [&](BootTime told) {
      return told.is_set() && told >= loss.from && told < loss.mended;
    };
    doubt.terminal_untrusted |= inside(facts.terminal_told);
    doubt.deletion_untrusted |= inside(facts.deleted_told);
    // A loss that was mended took nobody who was told alive, or at least not gone, afterwards.
    const bool ended_inside = inside(facts.terminal_told) || inside(facts.deleted_told);
    if (loss.mended == BootTime::Max() ? !facts.deleted_told.is_set() || ended_inside
                                       : ended_inside) {
      doubt.lost_since = std::min(doubt.lost_since, loss.from);
    }
  }
  return doubt;
}

bool NodeIndex::LostAt(std::string_view node, BootTime t) const {
  const auto it = losses_.find(ToAbsl(node));
  if (it == losses_.end()) return false;
  return std::any_of(it->second.begin(), it->second.end(),
                     [&](const Loss& loss) { return t >= loss.from && t < loss.mended; });
}

bool NodeIndex::IsNodeAddress(const IpAddr& ip, BootTime t) const {
  const auto it = addresses_.find(ip);
  if (it == addresses_.end()) return false;
  // Nodes come long before their addresses are used: the instant of the first word says nothing.
  return std::any_of(it->second.begin(), it->second.end(),
                     [&](const Held& held) { return t < held.to; });
}

void NodeIndex::Compact(BootTime horizon) {
  absl::erase_if(losses_, [&](auto& entry) {
    std::erase_if(entry.second, [&](const Loss& loss) { return loss.mended < horizon; });
    return entry.second.empty();
  });
  absl::erase_if(addresses_, [&](auto& entry) {
    std::erase_if(entry.second, [&](const Held& held) { return held.to < horizon; });
    return entry.second.empty();
  });
  absl::erase_if(history_, [&](auto& entry) {
    std::vector<Told>& told = entry.second;
    // A state holds until the next one: the last one before the horizon is still needed.
    const auto keep = std::find_if(told.begin(), told.end(),
                                   [&](const Told& state) { return state.observed >= horizon; });
    if (keep - told.begin() > 1) told.erase(told.begin(), keep - 1);
    return told.size() == 1 && told.back().change.deleted && told.back().observed < horizon;
  });
}

}  // namespace phantomd
