#include "agent/cmd/ctl/merge.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "agent/base/check.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using google::protobuf::Duration;
using google::protobuf::RepeatedPtrField;
using google::protobuf::Timestamp;
using google::protobuf::util::TimeUtil;

template <typename Item, typename Before>
void Sort(RepeatedPtrField<Item>* items, Before before) {
  std::stable_sort(items->begin(), items->end(), before);
}

void AddCounts(const RepeatedPtrField<pb::Count>& from, RepeatedPtrField<pb::Count>* into) {
  std::map<std::string, uint64_t> sums;
  for (const auto* counts : {&from, static_cast<const RepeatedPtrField<pb::Count>*>(into)}) {
    for (const pb::Count& entry : *counts) sums[entry.key()] += entry.count();
  }
  into->Clear();
  for (const auto& [key, count] : sums) {
    pb::Count* entry = into->Add();
    entry->set_key(key);
    entry->set_count(count);
  }
}

bool Before(const Timestamp& a, const Timestamp& b) {
  return std::make_pair(a.seconds(), a.nanos()) < std::make_pair(b.seconds(), b.nanos());
}
bool Before(const Duration& a, const Duration& b) {
  return std::make_pair(a.seconds(), a.nanos()) < std::make_pair(b.seconds(), b.nanos());
}

// Open windows first, then the longest.
bool SlowerWindow(const pb::ProxyWindow& a, const pb::ProxyWindow& b) {
  if (a.has_closed() != b.has_closed()) return !a.has_closed();
  if (!a.has_closed()) return Before(a.opened(), b.opened());
  return Before(b.closed() - b.opened(), a.closed() - a.opened());
}

// The median of the closed windows, if every window is there and one is closed.
void SetMedianWindow(pb::Rollout* rollout) {
  std::vector<Duration> lengths;
  for (const pb::ProxyWindow& w : rollout->windows()) {
    if (w.has_closed()) lengths.push_back(w.closed() - w.opened());
  }
  rollout->clear_window_p50();
  if (lengths.empty()) return;
  std::sort(lengths.begin(), lengths.end(),
            [](const Duration& a, const Duration& b) { return Before(a, b); });
  *rollout->mutable_window_p50() = lengths[(lengths.size() - 1) / 2];
}

// Of connections that two agents saw no median is known, only the longest.
void AddStranded(const pb::Rollout& from, pb::Rollout* into) {
  auto* all = into->mutable_stranded_after();
  for (const pb::StrandedConnections& more : from.stranded_after()) {
    const auto same = std::find_if(all->begin(), all->end(),
                                   [&](const auto& entry) { return entry.how() == more.how(); });
    if (same == all->end()) {
      *all->Add() = more;
      continue;
    }
    same->set_count(same->count() + more.count());
    same->clear_after_p50();
    if (Before(same->after_max(), more.after_max())) *same->mutable_after_max() = more.after_max();
  }
  std::sort(all->begin(), all->end(),
            [](const auto& a, const auto& b) { return a.how() < b.how(); });
}

void AddRollout(const pb::Rollout& from, pb::Rollout* into) {
  into->set_attempts(into->attempts() + from.attempts());
  into->set_withdrawn(into->withdrawn() + from.withdrawn());
  into->set_dead(into->dead() + from.dead());
  into->set_reused(into->reused() + from.reused());
  into->set_other(into->other() + from.other());
  into->set_stranded(into->stranded() + from.stranded());
  into->set_attempts_lost(into->attempts_lost() + from.attempts_lost());
  into->set_lower_bounds(into->lower_bounds() || from.lower_bounds());
  // Each agent may know of pods that another has not heard of yet, never of others.
  into->set_pods_departed(std::max(into->pods_departed(), from.pods_departed()));
  AddCounts(from.by_cause(), into->mutable_by_cause());
  AddCounts(from.by_outcome(), into->mutable_by_outcome());
  AddCounts(from.by_layer(), into->mutable_by_layer());
  AddCounts(from.stranded_by_end(), into->mutable_stranded_by_end());
  AddStranded(from, into);
  // Finished when it is for every agent.
  if (!from.has_finished()) {
    into->clear_finished();
  } else if (into->has_finished() && Before(into->finished(), from.finished())) {
    *into->mutable_finished() = from.finished();
  }
  if (from.has_wait_max()) {
    if (into->has_wait_max()) {
      into->clear_wait_p50();
    } else if (from.has_wait_p50()) {
      *into->mutable_wait_p50() = from.wait_p50();
    }
    if (Before(into->wait_max(), from.wait_max())) *into->mutable_wait_max() = from.wait_max();
    *into->mutable_wait_total() += from.wait_total();
  }
  if (from.has_window_max()) {
    if (into->has_window_max()) {
      into->clear_window_p50();
    } else if (from.has_window_p50()) {
      *into->mutable_window_p50() = from.window_p50();
    }
    if (Before(into->window_max(), from.window_max())) {
      *into->mutable_window_max() = from.window_max();
    }
  }
  into->mutable_windows()->MergeFrom(from.windows());
}

bool NewerRollout(const pb::Rollout& a, const pb::Rollout& b) {
  if (Before(b.started(), a.started())) return true;
  return !Before(a.started(), b.started()) && a.name() < b.name();
}

}  // namespace

pb::ListProxiesResponse Merge(std::vector<pb::ListProxiesResponse> answers) {
  pb::ListProxiesResponse out;
  for (const auto& answer : answers) out.mutable_proxies()->MergeFrom(answer.proxies());
  Sort(out.mutable_proxies(), [](const pb::ProxyStatus& a, const pb::ProxyStatus& b) {
    return std::tie(a.proxy().name(), a.proxy().id()) < std::tie(b.proxy().name(), b.proxy().id());
  });
  return out;
}

pb::Rollout Merge(std::vector<pb::Rollout> answers) {
  PHANTOMD_CHECK(!answers.empty());
  pb::Rollout out = std::move(answers.front());
  if (answers.size() == 1) return out;
  for (size_t i = 1; i < answers.size(); ++i) AddRollout(answers[i], &out);
  Sort(out.mutable_windows(), SlowerWindow);
  if (!out.windows().empty()) SetMedianWindow(&out);
  return out;
}

pb::ListRolloutsResponse Merge(std::vector<pb::ListRolloutsResponse> answers) {
  std::map<std::string, std::vector<pb::Rollout>> by_name;
  for (auto& answer : answers) {
    for (pb::Rollout& rollout : *answer.mutable_rollouts()) {
      by_name[rollout.name()].push_back(std::move(rollout));
    }
  }
  pb::ListRolloutsResponse out;
  for (auto& [name, parts] : by_name) *out.add_rollouts() = Merge(std::move(parts));
  Sort(out.mutable_rollouts(), NewerRollout);
  return out;
}

pb::ListConnectionsResponse Merge(std::vector<pb::ListConnectionsResponse> answers) {
  if (answers.size() == 1) return std::move(answers.front());
  pb::ListConnectionsResponse out;
  for (const auto& answer : answers) out.mutable_connections()->MergeFrom(answer.connections());
  Sort(out.mutable_connections(), [](const pb::Connection& a, const pb::Connection& b) {
    return Before(b.started(), a.started());
  });
  return out;
}

pb::ListStaleEndpointsResponse Merge(std::vector<pb::ListStaleEndpointsResponse> answers) {
  pb::ListStaleEndpointsResponse out;
  for (const auto& answer : answers) out.mutable_endpoints()->MergeFrom(answer.endpoints());
  Sort(out.mutable_endpoints(), [](const pb::StaleEndpoint& a, const pb::StaleEndpoint& b) {
    return std::tie(a.proxy_name(), a.proxy_id(), a.cluster(), a.address()) <
           std::tie(b.proxy_name(), b.proxy_id(), b.cluster(), b.address());
  });
  return out;
}

pb::AddressExplanation Merge(std::vector<pb::AddressExplanation> answers) {
  PHANTOMD_CHECK(!answers.empty());
  // The firmest word on the address itself: all agents read the same cluster, but one may have
  // started later or lost its feed.
  const auto firmness = [](const pb::AddressExplanation& e) {
    return std::make_pair(e.destination_class() != pb::UNKNOWN_DESTINATION,
                          e.certainty() == pb::CERTAIN);
  };
  const auto firmest =
      std::max_element(answers.begin(), answers.end(),
                       [&](const auto& a, const auto& b) { return firmness(a) < firmness(b); });
  pb::AddressExplanation out = *firmest;
  for (auto it = answers.begin(); it != answers.end(); ++it) {
    if (it == firmest) continue;
    out.mutable_beliefs()->MergeFrom(it->beliefs());
    out.mutable_recent()->MergeFrom(it->recent());
  }
  Sort(out.mutable_recent(), [](const pb::Connection& a, const pb::Connection& b) {
    return Before(b.started(), a.started());
  });
  return out;
}

}  // namespace phantomd
