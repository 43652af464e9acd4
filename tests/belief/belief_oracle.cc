#include "tests/belief/belief_oracle.h"

#include <algorithm>

namespace phantomd::testing {

void BeliefOracle::Apply(const BeliefSnapshot& snapshot) {
  if (!snapshot.error.empty()) return;
  looked_.clear();
  View view;
  view.requested = snapshot.requested;
  view.received = snapshot.received;
  const bool chained = !views_.empty() && views_.back().whole;
  view.whole = snapshot.complete || chained;
  view.follows = chained;
  if (!snapshot.complete && !views_.empty()) view.clusters = views_.back().clusters;
  for (const BeliefSnapshot::Cluster& cluster : snapshot.clusters) {
    Content content;
    for (const BeliefSnapshot::Endpoint& endpoint : cluster.endpoints) {
      content[endpoint.address] = {endpoint.in_assignment ? Hold::kAssigned : Hold::kHostSet,
                                   endpoint.connects};
      ever_[cluster.name].insert(endpoint.address);
    }
    view.clusters[cluster.name] = content;
    view.told.insert(cluster.name);
    if (cluster.updated.is_set()) {
      view.updated[cluster.name] =
          BootTime::FromNanos(cluster.updated.nanos()) + std::chrono::milliseconds(1);
    }
  }
  for (const std::string& name : snapshot.removed_clusters) {
    view.clusters.erase(name);
    view.told.insert(name);
  }
  views_.push_back(std::move(view));
}

void BeliefOracle::Lost() {
  // The next incremental view must not be taken as whole: an end that knows nothing says so.
  if (views_.empty()) return;
  looked_.clear();
  View hole = views_.back();
  hole.poll = false;
  hole.whole = false;
  hole.follows = false;
  hole.told.clear();
  hole.updated.clear();
  views_.push_back(std::move(hole));
}

void BeliefOracle::Gone(BootTime when) {
  looked_.clear();
  View end;
  end.requested = end.received = when;
  end.poll = false;
  end.whole = true;
  views_.push_back(std::move(end));
}

bool BeliefOracle::Usable(BootTime t) const {
  return std::any_of(views_.begin(), views_.end(), [&](const View& view) {
    const Nanos apart = t > view.received ? t - view.received : view.received - t;
    return view.poll && apart <= std::chrono::seconds(30);
  });
}

const std::vector<BeliefOracle::Sight>& BeliefOracle::Sights(const std::string& cluster,
                                                             const SocketAddr& address) const {
  const auto [at, added] = looked_.try_emplace({cluster, address});
  if (added) at->second = Look(cluster, address);
  return at->second;
}

std::vector<BeliefOracle::Sight> BeliefOracle::Look(const std::string& cluster,
                                                    const SocketAddr& address) const {
  std::vector<Sight> sights;
  BootTime last_change = BootTime::Min();
  const auto kind = [](const std::optional<Endpoint>& e) {
    return e ? static_cast<int>(e->hold) : -1;
  };
  for (const View& view : views_) {
    if (!view.whole && !view.told.contains(cluster)) continue;
    Sight sight{&view, std::nullopt, view.received};
    if (const auto found = view.clusters.find(cluster); found != view.clusters.end()) {
      if (const auto at = found->second.find(address); at != found->second.end()) {
        sight.listed = at->second;
      }
    }
    const Sight* before = sights.empty() ? nullptr : &sights.back();
    const std::optional<Endpoint> was = before == nullptr ? std::nullopt : before->listed;
    const bool by_update = (sight.listed && sight.listed->hold == Hold::kAssigned) ||
                           (was && was->hold == Hold::kAssigned);
    if (const auto u = view.updated.find(cluster); u != view.updated.end() && by_update) {
      if (u->second < view.received && (before == nullptr || u->second > before->view->requested)) {
        sight.since = u->second;
      }
    }
    if (kind(sight.listed) != kind(was)) {
      sight.since = std::max(sight.since, last_change);  // changes come one after the other
      last_change = sight.since;
    }
    sights.push_back(sight);
  }
  return sights;
}

std::optional<BeliefOracle::Facts> BeliefOracle::At(const std::string& cluster,
                                                    const SocketAddr& address, BootTime t) const {
  const std::vector<Sight>& sights = Sights(cluster, address);
  const auto kind = [&](size_t i) {
    return sights[i].listed ? static_cast<int>(sights[i].listed->hold) : -1;
  };
  const auto changes = [&](size_t i) { return i == 0 ? kind(0) != -1 : kind(i) != kind(i - 1); };
  // The last change that had surely happened by t, and what it led to.
  std::optional<size_t> current;
  for (size_t i = 0; i < sights.size(); ++i) {
    if (changes(i) && sights[i].since <= t) current = i;
  }
  const bool held = current && kind(*current) != -1;
  if (!held) {
    // Not yet, or no longer: the next listing may have begun already.
    for (size_t i = current ? *current + 1 : 0; i < sights.size(); ++i) {
      if (!changes(i)) continue;
      const BootTime earliest = i == 0 ? sights[0].view->received - std::chrono::seconds(30)
                                       : sights[i - 1].view->requested;
      if (earliest <= t) current = i;
      break;
    }
  }
  if (!current) return std::nullopt;
  size_t in_run = *current;
  Facts facts{};
  facts.hold = kind(in_run) == -1 ? Hold::kDropped : static_cast<Hold>(kind(in_run));
  if (facts.hold == Hold::kDropped) --in_run;
  size_t first = in_run, last = in_run;
  while (first > 0 && kind(first - 1) != -1) --first;
  while (last + 1 < sights.size() && kind(last + 1) != -1) ++last;
  facts.first_seen = sights[first].since;
  facts.last_seen = sights[last].view->received;
  facts.gone_by = last + 1 < sights.size() ? sights[last + 1].since : BootTime::Max();
  facts.received_before = sights[first].view->received < t;
  facts.connects_around = Connects(sights, first, last, t);
  return facts;
}

int64_t BeliefOracle::Connects(const std::vector<Sight>& sights, size_t first, size_t last,
                               BootTime t) const {
  BootTime newest;
  for (const View& view : views_) {
    if (view.poll) newest = view.received;
  }
  const View* before = nullptr;
  const View* after = nullptr;
  for (const View& view : views_) {
    if (!view.poll || view.received < newest - std::chrono::minutes(3)) continue;
    if (view.received <= t) before = &view;
    if (view.requested >= t && after == nullptr) after = &view;
  }
  if (before == nullptr || after == nullptr) return -1;
  for (const View* view = before + 1; view <= after; ++view) {
    if (!view->follows) return -1;
  }
  for (size_t i = last + 1; i < sights.size(); ++i) {
    if (sights[i].listed) return -1;  // the host came back since
  }
  int64_t counts[2] = {-1, -1};
  for (size_t i = first; i <= last; ++i) {
    if (sights[i].view == before) counts[0] = static_cast<int64_t>(sights[i].listed->connects);
    if (sights[i].view == after) counts[1] = static_cast<int64_t>(sights[i].listed->connects);
  }
  // Listed by the second poll alone: all that it counted came after the first.
  if (counts[0] < 0 && before->received < sights[first].view->received && counts[1] > 0) {
    return counts[1];
  }
  return counts[0] < 0 || counts[1] < counts[0] ? -1 : counts[1] - counts[0];
}

std::vector<BeliefOracle::Span> BeliefOracle::Spans(const std::vector<Sight>& sights) const {
  std::vector<Span> spans;
  for (size_t i = 0; i < sights.size(); ++i) {
    if (!sights[i].listed) continue;
    size_t last = i;
    while (last + 1 < sights.size() && sights[last + 1].listed) ++last;
    Span span{sights[i].since, sights[last].view->requested, BootTime::Max()};
    if (last + 1 < sights.size()) {
      const Sight& end = sights[last + 1];
      span.gone_at = end.since;
      if (end.since < end.view->received && end.since > sights[last].view->received &&
          end.view->received - span.last_requested <= std::chrono::milliseconds(100)) {
        span.last_requested =
            std::max(span.last_requested, end.since - Nanos(std::chrono::milliseconds(1)));
      }
    }
    spans.push_back(span);
    i = last;
  }
  return spans;
}

TimeBounds BeliefOracle::LetGo(const IpAddr& ip, BootTime from, BootTime until) const {
  std::vector<Span> spans;
  for (const auto& [cluster, addresses] : ever_) {
    for (const SocketAddr& address : addresses) {
      if (address.ip != ip) continue;
      for (const Span& span : Spans(Sights(cluster, address))) {
        if (span.gone_at > from && span.first_at < until) spans.push_back(span);
      }
    }
  }
  if (spans.empty()) return {BootTime::Min(), BootTime::Min()};
  // The first instant from `from` on at which it is held, and the first after that at which it is
  // not, by trial.
  BootTime instant = BootTime::Max();
  for (const Span& span : spans) instant = std::min(instant, std::max(from, span.first_at));
  TimeBounds end{from, instant};
  for (bool grew = true; grew;) {
    grew = false;
    for (const Span& span : spans) {
      if (span.first_at > end.not_after || span.gone_at < end.not_after) continue;
      if (span.gone_at > end.not_after) grew = true;
      end.not_after = span.gone_at;
      end.not_before = std::max(end.not_before, span.last_requested);
    }
  }
  for (const Span& span : spans) {
    if (span.first_at <= end.not_after)
      end.not_before = std::max(end.not_before, span.last_requested);
  }
  return end;
}

bool BeliefOracle::BelievesNow(const IpAddr& ip) const {
  if (views_.empty()) return false;
  for (const auto& [name, content] : views_.back().clusters) {
    for (const auto& [address, endpoint] : content) {
      if (address.ip == ip) return true;
    }
  }
  return false;
}

}  // namespace phantomd::testing
