#include "agent/engine/explain.h"

#include <algorithm>
#include <tuple>

namespace phantomd {
namespace {

constexpr size_t kRecent = 20;

// How the cluster held the endpoint at `time`, with the checks that it failed as last told.
std::string HealthOf(const Knowledge& known, const Believer& believer, BootTime time) {
  const ClusterBelief& last = believer.belief;
  if (time < last.first_seen) return "not yet listed";
  if (last.gone_by <= time) return "dropped";
  std::string health = "assigned";
  for (const ClusterBelief& then :
       known.belief.At(believer.proxy, believer.address, time).clusters) {
    if (then.cluster == last.cluster && then.hold == Hold::kHostSet) health = "held by the proxy";
  }
  if (last.failed_outlier_check) health += ", ejected as an outlier";
  if (last.failed_active_health_check) health += ", failed its health check";
  return health;
}

bool Matches(const SocketAddr& asked, const SocketAddr& address) {
  return asked.ip == address.ip && (asked.port == 0 || asked.port == address.port);
}

std::vector<AddressExplanation::BeliefLine> BeliefLines(const Knowledge& known,
                                                        const SocketAddr& address, BootTime time) {
  std::vector<AddressExplanation::BeliefLine> out;
  for (const Believer& believer : known.belief.HistoryOf(address.ip)) {
    if (!Matches(address, believer.address)) continue;
    const ClusterBelief& belief = believer.belief;
    AddressExplanation::BeliefLine& line = out.emplace_back();
    line.proxy_id = believer.proxy;
    if (const ProxyTable::Entry* entry = known.proxies.Find(believer.proxy)) {
      line.proxy_name = entry->named.name;
    }
    line.cluster = std::string(belief.cluster);
    line.address = believer.address;
    // Between the last poll that listed it and the first that did not, it counts as held.
    line.believes = belief.first_seen <= time && time < belief.gone_by;
    line.first_seen = belief.first_seen;
    line.last_seen = belief.last_seen;
    if (belief.gone_by != BootTime::Max()) line.gone_by = belief.gone_by;
    line.health = HealthOf(known, believer, time);
  }
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::tie(a.proxy_name, a.proxy_id, a.cluster, a.address, b.first_seen) <
           std::tie(b.proxy_name, b.proxy_id, b.cluster, b.address, a.first_seen);
  });
  return out;
}

std::vector<std::shared_ptr<const Connection>> Recent(const Knowledge& known,
                                                      const SocketAddr& address) {
  std::vector<std::shared_ptr<const Connection>> out;
  const ConnectionChunks chunks = known.ledger.Connections();
  for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
    for (auto it = (*chunk)->rbegin(); it != (*chunk)->rend(); ++it) {
      if (!Matches(address, (*it)->destination)) continue;
      out.push_back(*it);
      if (out.size() == kRecent) return out;
    }
  }
  return out;
}

}  // namespace

AddressExplanation ExplainAddress(const Knowledge& known, const SocketAddr& address,
                                  BootTime time) {
  AddressExplanation out;
  out.address = address;
  out.time = time;
  const Verdict verdict = known.judge.Suppose(ProxyId(), address, time);
  out.destination = verdict.destination;
  out.certainty = verdict.certainty;
  out.unknown_reason = verdict.unknown_reason;
  // News about an instant that the watermark has not passed may still be on its way.
  if (time > known.judge.WatermarkAt(known.now) && out.certainty == Certainty::kCertain) {
    out.certainty = Certainty::kInferred;
  }
  for (const TenancyFacts& tenancy : known.lifecycle.Tenancies(address.ip)) {
    out.holders.push_back(HolderOf(tenancy, known.lifecycle.WithdrawnBounds(tenancy.pod),
                                   known.lifecycle.DepartureOf(tenancy.pod, known.now)));
  }
  out.beliefs = BeliefLines(known, address, time);
  out.recent = Recent(known, address);
  return out;
}

}  // namespace phantomd
