#include "agent/ledger/connection.h"

#include <string>

#include "agent/ledger/change_windows.h"

namespace phantomd {
namespace {

Holder Describe(PodHandle pod, const IpAddr& ip, const Lifecycle& lifecycle, BootTime now) {
  if (pod == PodHandle::kNone) return {};
  for (const TenancyFacts& tenancy : lifecycle.Tenancies(ip)) {
    if (tenancy.pod != pod) continue;
    return HolderOf(tenancy, lifecycle.WithdrawnBounds(pod), lifecycle.DepartureOf(pod, now));
  }
  return {};
}

}  // namespace

Holder HolderOf(const TenancyFacts& tenancy, const TimeBounds& withdrawn, Departure departure) {
  Holder holder;
  if (tenancy.ref.is_null()) return holder;
  holder.pod = *tenancy.ref;
  holder.acquired = Middle(tenancy.acquired);
  if (withdrawn.happened()) holder.withdrawn = Middle(withdrawn);
  if (tenancy.released.not_before != BootTime::Min() &&
      tenancy.released.not_before != BootTime::Max()) {
    holder.released_not_before = tenancy.released.not_before;
  }
  if (tenancy.released.happened()) holder.released_not_after = tenancy.released.not_after;
  holder.departure = departure;
  holder.evidence = std::string(tenancy.evidence);
  return holder;
}

Connection ConnectionOf(const Attempt& attempt, const Proxy* proxy, const Verdict& verdict,
                        const Lifecycle& lifecycle, BootTime now) {
  const IpAddr& ip = attempt.destination.ip;
  Connection c;
  c.proxy_id = proxy != nullptr ? proxy->id : attempt.proxy_id;
  if (proxy != nullptr) c.proxy_name = proxy->name;
  c.initiator = attempt.initiator;
  c.source = attempt.source;
  c.destination = attempt.destination;
  c.started = attempt.started;
  c.duration = attempt.ended - attempt.started;
  c.outcome = attempt.outcome;
  c.error_number = attempt.error_number;
  c.syn_retransmits = attempt.syn_retransmits;
  c.destination_class = verdict.destination;
  c.certainty = verdict.certainty;
  c.unknown_reason = verdict.unknown_reason;
  c.cause = verdict.cause;
  c.layer = verdict.layer;
  c.cluster = std::string(verdict.cluster);
  c.last_holder = Describe(verdict.last_holder, ip, lifecycle, now);
  c.current_holder = Describe(verdict.current_holder, ip, lifecycle, now);
  c.holder_at_outcome = Describe(verdict.holder_at_outcome, ip, lifecycle, now);
  if (verdict.withdrawn.is_set()) c.since_withdrawn = attempt.started - verdict.withdrawn;
  if (verdict.dead.is_set()) c.since_dead = attempt.started - verdict.dead;
  c.socket_cookie = attempt.socket_cookie;
  return c;
}

}  // namespace phantomd
