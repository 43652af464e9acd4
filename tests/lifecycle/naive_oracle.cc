#include "tests/lifecycle/naive_oracle.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "fmt/format.h"

namespace phantomd::testing {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kDelay = 2000 * kMs;
constexpr int64_t kClock = 500 * kMs;
constexpr int64_t kGrain = 1000 * kMs;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int64_t kEver = std::numeric_limits<int64_t>::min();

bool Ended(const PodChange& pod) {
  return pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed;
}

// A gap's begin is kept in whole milliseconds before the receipt.
int64_t GapOf(const PodChange& pod, int64_t told) {
  const int64_t hidden = told - pod.not_before.nanos();
  return told - (hidden + kMs - 1) / kMs * kMs;
}

std::string Line(const std::string& uid, bool sure, bool in, bool out, int64_t from, int64_t to) {
  return fmt::format("{}{}{}[{} {}] ", uid, sure ? "!" : "?", !out ? "" : in ? "~" : "-", from, to);
}

}  // namespace

NaiveOracle::NaiveOracle(const std::vector<News>& news, BootTime now) {
  for (const News& one : news) {
    if (one.observed <= now) news_.push_back(one);
  }
}

int64_t NaiveOracle::Floor(Feed feed, int64_t observed) const {
  int64_t floor = observed - kDelay;
  int64_t broken_since = kNever;
  for (const News& one : news_) {
    const FeedChange* change = std::get_if<FeedChange>(&one.change);
    if (change == nullptr || change->feed != feed) continue;
    const int64_t at = one.observed.nanos();
    if (change->state == FeedState::kBroken) {
      if (at <= observed) broken_since = change->good_until.nanos();
    } else {
      if (broken_since != kNever && at >= observed) floor = std::min(floor, broken_since - kDelay);
      if (at >= observed) return floor;
      broken_since = kNever;
    }
  }
  return broken_since == kNever ? floor : std::min(floor, broken_since - kDelay);
}

bool NaiveOracle::CatchingUp(Feed feed, int64_t observed) const {
  return Floor(feed, observed) < observed - kDelay;
}

int64_t NaiveOracle::AliveOf(const std::string& uid) const {
  int64_t alive = kEver;
  int64_t created = kEver;
  for (const News& one : news_) {
    const PodChange* pod = std::get_if<PodChange>(&one.change);
    if (pod == nullptr || pod->pod.uid.value() != uid) continue;
    created = pod->created.nanos() - kClock;
    if (!pod->deleted && !Ended(*pod) && !pod->containers_finished.is_set()) {
      alive = one.observed.nanos() - kDelay;
    }
  }
  return alive == kEver ? created : alive;
}

std::pair<int64_t, int64_t> NaiveOracle::RequestOf(const std::string& uid) const {
  for (const News& one : news_) {
    const PodChange* pod = std::get_if<PodChange>(&one.change);
    if (pod == nullptr || pod->pod.uid.value() != uid) continue;
    const int64_t told = one.observed.nanos();
    if (pod->deleted && !pod->deletion_requested.is_set()) {
      const int64_t hidden = pod->not_before.is_set() ? GapOf(*pod, told) - kDelay : kNever;
      return {std::min(Floor(Feed::kPods, told), hidden), told};
    }
    if (!pod->deletion_requested.is_set()) continue;
    const int64_t second = pod->deletion_requested.nanos();
    const int64_t to = std::min(told, second + kGrain + kClock);
    return {std::min(to, std::max(second - kClock, Floor(Feed::kPods, told))), to};
  }
  return {kNever, kNever};
}

bool NaiveOracle::LeavingBy(const std::string& uid, int64_t instant) const {
  for (const News& one : news_) {
    const PodChange* pod = std::get_if<PodChange>(&one.change);
    if (pod == nullptr || pod->pod.uid.value() != uid || one.observed.nanos() > instant) continue;
    if (pod->deleted || Ended(*pod) || pod->deletion_requested.is_set()) return true;
  }
  return false;
}

NaiveOracle::Claim NaiveOracle::ClaimOf(const std::string& uid, const IpAddr& ip) const {
  Claim claim{uid, kNever, true, false, kEver, kEver, kNever, kNever, kNever};
  int64_t terminal = kNever;
  int64_t requested = kNever;
  int64_t requested_told = kNever;
  int64_t finished = kNever;
  int64_t finished_told = kNever;
  int64_t deleted = kNever;
  int64_t gap = kNever;
  for (const News& one : news_) {
    const PodChange* pod = std::get_if<PodChange>(&one.change);
    if (pod == nullptr || pod->pod.uid.value() != uid) continue;
    const int64_t at = one.observed.nanos();
    claim.created = pod->created.nanos();
    if (pod->deletion_requested.is_set() && requested == kNever) {
      requested = pod->deletion_requested.nanos();
      requested_told = at;
    }
    if (Ended(*pod)) terminal = std::min(terminal, at);
    if (!pod->containers_finished.is_set()) {
      finished = finished_told = kNever;
    } else if (finished != pod->containers_finished.nanos()) {
      finished = pod->containers_finished.nanos();
      finished_told = at;
    }
    if (pod->deleted) {
      deleted = at;
      if (pod->not_before.is_set()) gap = GapOf(*pod, at);
    }
    if (std::find(pod->ips.begin(), pod->ips.end(), ip) != pod->ips.end() && claim.told == kNever) {
      claim.told = at;
      claim.strong = !pod->deleted && !Ended(*pod) && !pod->deletion_requested.is_set();
      claim.listed = CatchingUp(Feed::kPods, at);
    }
  }
  const bool ends = requested != kNever || terminal != kNever || deleted != kNever;
  if (ends && finished != kNever) {
    claim.released_from = finished - kClock;
    claim.released = std::min(finished + kGrain + kClock, finished_told);
  } else if (requested != kNever) {
    claim.released_from = requested - kClock;
    if (terminal <= requested_told) {
      claim.released_from = std::min(claim.released_from, AliveOf(uid));
    }
  } else if (gap != kNever && terminal == kNever) {
    claim.released_from = gap - kDelay;
  } else if (ends) {
    claim.released_from = AliveOf(uid);
  }
  claim.released = std::min(claim.released, terminal);
  if (finished != kNever || terminal != kNever) {
    claim.released = std::min(claim.released, deleted);
  }
  claim.released_from = std::min(claim.released_from, claim.released);
  return claim;
}

std::vector<NaiveOracle::Claim> NaiveOracle::ClaimsOf(const IpAddr& ip) const {
  std::set<std::string> uids;
  for (const News& one : news_) {
    if (const PodChange* pod = std::get_if<PodChange>(&one.change)) {
      uids.insert(pod->pod.uid.value());
    }
  }
  std::vector<Claim> claims;
  for (const std::string& uid : uids) {
    const Claim claim = ClaimOf(uid, ip);
    if (claim.told != kNever) claims.push_back(claim);
  }
  // Whether `a` held it before `b`.
  const auto before = [&](const Claim& a, const Claim& b) {
    const Claim& later = a.told > b.told || (a.told == b.told && a.uid > b.uid) ? a : b;
    const Claim& sooner = &later == &a ? b : a;
    bool later_is_older;
    if (later.strong) {
      later_is_older = later.listed && sooner.strong && sooner.listed &&
                       !LeavingBy(sooner.uid, later.told) && later.created < sooner.created;
    } else {
      later_is_older = !LeavingBy(sooner.uid, later.told) || later.created < sooner.created;
    }
    return later_is_older == (&later == &a);
  };
  std::vector<Claim> result = claims;
  for (Claim& claim : result) {
    claim.acquired_from = claim.created - kClock;
    const Claim* previous = nullptr;
    for (const Claim& other : claims) {
      if (other.uid == claim.uid) continue;
      if (before(other, claim)) {
        if (previous == nullptr || before(*previous, other)) previous = &other;
      } else if (other.strong && other.told < claim.released) {
        if (claim.released_from == kNever) claim.released_from = AliveOf(claim.uid);
        claim.released = other.told;
        claim.released_from = std::min(claim.released_from, claim.released);
      }
    }
    if (previous != nullptr) {
      claim.acquired_from = std::max(claim.acquired_from, previous->released_from == kNever
                                                              ? AliveOf(previous->uid)
                                                              : previous->released_from);
    }
    claim.acquired = std::min(claim.told, claim.released);
    claim.acquired_from = std::min(claim.acquired_from, claim.acquired);
    // Nothing told, but nobody was listening.
    const int64_t blind = [&] {
      int64_t since = kNever;
      for (const News& one : news_) {
        const FeedChange* change = std::get_if<FeedChange>(&one.change);
        if (change == nullptr || change->feed != Feed::kPods) continue;
        since = change->state == FeedState::kBroken ? change->good_until.nanos() - kDelay : kNever;
      }
      return since;
    }();
    if (claim.released_from == kNever) claim.released_from = blind;
  }
  return result;
}

// In service, out of it, or maybe both: "", "-" or "~".
std::string NaiveOracle::ServiceOf(const std::string& uid, int64_t t) const {
  // Ready or not after each news, over all slices that list the pod.
  std::map<std::string, int> slices;  // 0 unready, 1 terminating, 2 ready
  std::vector<Span> spans;
  bool listed = false;
  int64_t unseen_at = kNever;
  int64_t first_ready = kNever;
  bool last_by_removal = false;
  const auto [asked_from, asked] = RequestOf(uid);
  for (const News& one : news_) {
    const SliceChange* slice = std::get_if<SliceChange>(&one.change);
    if (slice == nullptr) continue;
    const int64_t at = one.observed.nanos();
    const bool was = std::any_of(slices.begin(), slices.end(),
                                 [](const auto& entry) { return entry.second == 2; });
    bool mentions = slices.erase(slice->name) > 0;
    bool terminating = false;
    if (!slice->deleted) {
      for (const SliceChange::Endpoint& endpoint : slice->endpoints) {
        if (endpoint.pod_uid.value() != uid) continue;
        slices[slice->name] = endpoint.ready ? 2 : endpoint.terminating ? 1 : 0;
        terminating = endpoint.terminating;
        mentions = listed = true;
      }
    }
    if (!mentions) continue;
    const bool is = std::any_of(slices.begin(), slices.end(),
                                [](const auto& entry) { return entry.second == 2; });
    // Never ready as far as was told; but nobody may have told.
    if (!is && spans.empty() && CatchingUp(Feed::kSlices, at)) unseen_at = at;
    if (is && unseen_at == at) unseen_at = kNever;
    if (is && !was) {
      first_ready = std::min(first_ready, at);
      if (!spans.empty() && last_by_removal && at - spans.back().out <= kGrain) {
        spans.back().out = spans.back().out_from = kNever;
      } else {
        spans.push_back({Floor(Feed::kSlices, at), at, kNever, kNever, false});
      }
    } else if (was && !is) {
      Span& span = spans.back();
      span.out = at;
      span.out_from = std::max(span.in_from, Floor(Feed::kSlices, at));
      span.by_terminating = terminating;
      if (terminating && asked != kNever) {
        span.out_from = std::min(at, std::max(span.out_from, asked_from));
      }
      last_by_removal = slices.empty();
    }
  }
  const bool unseen = unseen_at != kNever;
  bool in = spans.empty() || t < spans.front().in;
  bool out = unseen && t < first_ready && t >= Floor(Feed::kSlices, unseen_at);
  for (size_t i = 0; i < spans.size(); ++i) {
    if (t >= spans[i].in_from && t < spans[i].out) in = true;
    const int64_t back = i + 1 < spans.size() ? spans[i + 1].in : kNever;
    if (spans[i].out != kNever && t >= spans[i].out_from && t < back) out = true;
  }
  if (!listed || unseen || !spans.empty()) {
    if (t >= asked_from && asked_from != kNever) out = true;
    if (t >= asked && (!listed || !spans.empty())) in = false;
  }
  return !out ? "" : in ? "~" : "-";
}

std::string NaiveOracle::Who(const IpAddr& ip, BootTime at) const {
  const int64_t t = at.nanos();
  std::string who;
  bool nobody = true;
  for (const Claim& claim : ClaimsOf(ip)) {
    if (t < claim.acquired_from || t >= claim.released) continue;
    const bool sure = t >= claim.acquired && t < claim.released_from;
    if (sure) nobody = false;
    const std::string service = ServiceOf(claim.uid, t);
    who +=
        Line(claim.uid, sure, service != "-", service != "", claim.released_from, claim.released);
  }
  return who + (nobody ? "nobody" : "");
}

std::string WhoByIndex(const AddressFacts& facts) {
  std::map<std::string, std::string> lines;
  for (const PossibleHolder& holder : facts.holders) {
    const std::string uid = holder.tenancy.ref->uid.value();
    lines[uid] =
        Line(uid, holder.sure, holder.may_be_in_service, holder.may_be_withdrawn,
             holder.tenancy.released.not_before.nanos(), holder.tenancy.released.not_after.nanos());
  }
  std::string who;
  for (const auto& [uid, line] : lines) who += line;
  return who + (facts.nobody ? "nobody" : "");
}

}  // namespace phantomd::testing
