// A few lines that say what was known of one address: tenancies with bounds in seconds, clusters
// that list it, and one connection. EvidenceBuilder works out the facts at the SYN by the
// definition of bounds alone.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "agent/verdict/eliminate.h"

namespace phantomd::testing {

using enum Outcome;
inline constexpr auto kLive = DestinationClass::kLive, kWithdrawn = DestinationClass::kWithdrawn,
                      kDead = DestinationClass::kDead, kReused = DestinationClass::kReused,
                      kExternal = DestinationClass::kExternal,
                      kUnknown = DestinationClass::kUnknown;

inline BootTime At(double seconds) {
  return BootTime::FromNanos(static_cast<int64_t>(seconds * 1e9));
}
inline constexpr double kNever = 1e9;  // seconds; stands for "not known to have happened"

inline BootTime AtOrNever(double seconds) {
  return seconds >= kNever ? BootTime::Max() : At(seconds);
}

struct Span {
  double from = kNever;
  double to = kNever;
  TimeBounds bounds() const { return {At(from), AtOrNever(to)}; }
  BootTime likely() const { return to >= kNever ? BootTime::Max() : At(to) - Nanos(100'000'000); }
};

struct Tenancy {
  uint32_t pod = 1;
  Span acquired{1, 2};
  Span released;
  Span withdrawn;
  bool end_untold = false;
};

struct Cluster {
  std::string_view name;
  std::string_view service;
  std::map<uint32_t, Meaning> means;  // by pod; absent: no opinion
  Discovery discovery = Discovery::kEds;
  Hold hold = Hold::kAssigned;
  Layer layer = Layer::kL4;
  bool before = true;  // a snapshot received before the SYN listed it
  double last_seen = 1000;
  double gone_by = kNever;
  int64_t connects = -1;
  bool service_known = true;
  std::string_view mesh_cluster;
};

class EvidenceBuilder {
 public:
  EvidenceBuilder& Held(Tenancy tenancy) {
    tenancies_.push_back(tenancy);
    return *this;
  }
  EvidenceBuilder& Listed(Cluster cluster) {
    clusters_.push_back(std::move(cluster));
    return *this;
  }
  // Facts that do not follow from the tenancies.
  AddressFacts facts;
  bool pods_told = true;
  bool slices_told = true;
  bool belief_usable = true;
  bool answered_after = true;
  bool proxy_known = true;
  bool has_original_dst = false;
  Layer original_dst_layer = Layer::kUnspecified;

  EvidenceBuilder() { facts.history_complete = true; }

  Evidence Build(BootTime syn) const {
    Evidence out;
    out.address = facts;
    out.pods_told = pods_told;
    out.slices_told = slices_told;
    out.proxy_known = proxy_known;
    out.belief_usable = belief_usable;
    out.answered_after = answered_after;
    out.has_original_dst = has_original_dst;
    out.original_dst_layer = original_dst_layer;
    bool sure = false;
    std::vector<Tenancy> newest_first(tenancies_.rbegin(), tenancies_.rend());
    for (const Tenancy& t : newest_first) {
      const TenancyFacts tenancy = FactsOf(t);
      const bool outer = syn >= tenancy.acquired.not_before && syn <= tenancy.released.not_after;
      const bool inner = syn >= tenancy.acquired.not_after && syn < tenancy.released.not_before;
      if (outer) {
        out.address.holders.push_back({.tenancy = tenancy,
                                       .sure = inner,
                                       .may_be_in_service = syn < AtOrNever(t.withdrawn.to),
                                       .may_be_withdrawn = syn >= At(t.withdrawn.from),
                                       .withdrawn = t.withdrawn.bounds(),
                                       .likely_withdrawn = t.withdrawn.likely(),
                                       .end_untold = t.end_untold});
        sure = sure || inner;
      }
      if (tenancy.acquired.not_before <= syn) {
        EarlierTenancy earlier{.tenancy = tenancy, .withdrawn = t.withdrawn.bounds()};
        for (const Cluster& c : clusters_) {
          const auto it = c.means.find(t.pod);
          if (it != c.means.end() && it->second == Meaning::kMeant) earlier.meant = true;
        }
        out.earlier.push_back(earlier);
      }
    }
    out.address.nobody = !sure;
    out.address.ever_held = !tenancies_.empty();
    out.address.other_holder_known = tenancies_.size() > 1;
    for (const Cluster& c : clusters_) AddListing(c, out);
    return out;
  }

 private:
  static TenancyFacts FactsOf(const Tenancy& t) {
    static const PodRef kRef;
    return {.pod = static_cast<PodHandle>(t.pod),
            .ref = &kRef,
            .acquired = t.acquired.bounds(),
            .released = t.released.bounds(),
            .likely_released = t.released.likely(),
            .likely_acquired = t.acquired.likely()};
  }

  static void AddListing(const Cluster& c, Evidence& out) {
    ClusterEvidence& listing = out.listings.emplace_back();
    listing.service_known = c.service_known && !c.service.empty();
    listing.belief = {.cluster = c.name,
                      .service = c.service,
                      .mesh_cluster = c.mesh_cluster,
                      .discovery = c.discovery,
                      .layer = c.layer,
                      .hold = c.hold,
                      .last_seen = At(c.last_seen),
                      .gone_by = AtOrNever(c.gone_by),
                      .received_before = c.before,
                      .connects_around = c.connects};
    for (const PossibleHolder& holder : out.address.holders) {
      const auto it = c.means.find(static_cast<uint32_t>(holder.tenancy.pod));
      listing.meanings.push_back(it == c.means.end() ? Meaning::kNoOpinion : it->second);
    }
  }

  std::vector<Tenancy> tenancies_;  // oldest first
  std::vector<Cluster> clusters_;
};

struct Connect {
  double syn = 10;
  Outcome outcome = Outcome::kEstablished;
  uint32_t retransmits = 0;
  Initiator initiator = Initiator::kProxy;
  bool adopted = false;

  Attempt attempt() const {
    Attempt a;
    a.initiator = initiator;
    a.started = At(syn);
    a.ended = At(syn + 1);
    a.outcome = outcome;
    a.syn_retransmits = retransmits;
    a.adopted = adopted;
    return a;
  }
};

inline Judgement Decide(const EvidenceBuilder& known, const Connect& connect,
                        const JudgeContext& context = {}) {
  const Attempt attempt = connect.attempt();
  return Eliminate(attempt, known.Build(attempt.started), context);
}

}  // namespace phantomd::testing
