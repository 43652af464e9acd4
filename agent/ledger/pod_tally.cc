#include "agent/ledger/pod_tally.h"

#include <algorithm>

namespace phantomd {

void PodTally::Count(const Attempt& attempt, const ProxyId& proxy, const Verdict& verdict) {
  switch (verdict.destination) {
    case DestinationClass::kWithdrawn:
      ++withdrawn;
      break;
    case DestinationClass::kDead:
      ++dead;
      break;
    case DestinationClass::kReused:
      ++reused;
      break;
    default:
      ++other;
      break;
  }
  const bool phantom = IsPhantom(verdict.destination);
  if (phantom) {
    ++by_cause[verdict.cause];
    ++by_outcome[attempt.outcome];
    ++by_layer[verdict.layer];
    waits.Add(attempt.ended - attempt.started);
  }
  if (proxy.empty() || attempt.initiator != Initiator::kProxy) return;
  OfProxy& of_proxy = proxies[proxy];
  ++of_proxy.attempts;
  if (phantom) ++of_proxy.phantoms;
  of_proxy.last = std::max(of_proxy.last, attempt.started);
}

void PodTally::CountStranded(const ConnectionEnd& end, Nanos after) {
  if (end.socket_cookie != 0) {
    stalled.erase(end.socket_cookie);
    if (end.how == ConnectionEnd::How::kStalled) {
      stalled[end.socket_cookie] = {end.ended, after};
      return;
    }
  }
  stranded[end.how].Add(after);
}

void PodTally::SettleStalls(BootTime t) {
  std::erase_if(stalled, [&](const auto& entry) {
    if (entry.second.ended >= t) return false;
    stranded[ConnectionEnd::How::kStalled].Add(entry.second.after);
    return true;
  });
}

void PodTally::Add(const PodTally& more) {
  withdrawn += more.withdrawn;
  dead += more.dead;
  reused += more.reused;
  other += more.other;
  for (const auto& [key, count] : more.by_cause) by_cause[key] += count;
  for (const auto& [key, count] : more.by_outcome) by_outcome[key] += count;
  for (const auto& [key, count] : more.by_layer) by_layer[key] += count;
  waits.Add(more.waits);
  for (const auto& [how, after] : more.stranded) stranded[how].Add(after);
  for (const auto& [cookie, stall] : more.stalled) {
    stranded[ConnectionEnd::How::kStalled].Add(stall.after);
  }
  for (const auto& [id, of_proxy] : more.proxies) {
    OfProxy& sum = proxies[id];
    sum.attempts += of_proxy.attempts;
    sum.phantoms += of_proxy.phantoms;
    sum.last = std::max(sum.last, of_proxy.last);
  }
}

ChangeFigures PodTally::Figures() const {
  ChangeFigures figures;
  figures.withdrawn = withdrawn;
  figures.dead = dead;
  figures.reused = reused;
  figures.other = other;
  figures.by_cause = by_cause;
  figures.by_outcome = by_outcome;
  figures.by_layer = by_layer;
  figures.wait_p50 = waits.Quantile(0.5);
  figures.wait_max = waits.max();
  figures.wait_total = waits.total();
  figures.stranded = stranded;
  for (const auto& [cookie, stall] : stalled) {
    figures.stranded[ConnectionEnd::How::kStalled].Add(stall.after);
  }
  return figures;
}

}  // namespace phantomd
