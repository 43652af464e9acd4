// A few lines that say what was known of one address: tenancies with bounds in seconds, clusters
// that list it, and one connection. EvidenceBuilder works out the facts at the SYN by the
// definition of bounds alone.
#pragma once

#include <map>
#include <vector>

#include "agent/verdict/eliminate.h"

namespace phantomd::testing {

using enum Outcome;
inline constexpr auto kLive = DestinationClass::kLive, kWithdrawn = DestinationClass::kWithdrawn,
                      kDead = DestinationClass::kDead, kReused = DestinationClass::kReused,
                      kExternal = DestinationClass::kExternal,
                      kUnknown = DestinationClass::kUnknown;
inline constexpr auto kSure = Certainty::kCertain, kGuess = Certainty::kInferred;
inline constexpr auto kMeant = Meaning::kMeant, kNot = Meaning::kNotMeant;

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
  bool since_first_poll = false;
  double first_seen = 1000;
  double last_seen = 1000;
  double left_before = 0;  // 0: it was not listed before this stay
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
  bool soon_after_horizon = false;
  bool has_original_dst = false;
  bool original_dst_unused = false;
  Layer original_dst_layer = Layer::kUnspecified;

  EvidenceBuilder() { facts.history_complete = true; }

  Evidence Build(BootTime syn) const;

 private:
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
