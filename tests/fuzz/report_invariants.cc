#include "tests/fuzz/report_invariants.h"

#include <set>
#include <string>

#include "agent/base/check.h"
#include "tests/testing/counts.h"

namespace phantomd::fuzz {
namespace {

using testing::MustHaveCause;
using testing::Sum;

void CheckRollout(const RolloutReport& rollout) {
  PHANTOMD_CHECK(!rollout.name.empty());
  PHANTOMD_CHECK(rollout.attempts ==
                 rollout.withdrawn + rollout.dead + rollout.reused + rollout.other);
  const uint64_t phantoms = rollout.dead + rollout.reused;
  PHANTOMD_CHECK(Sum(rollout.by_cause) == phantoms);
  PHANTOMD_CHECK(Sum(rollout.by_outcome) == phantoms);
  PHANTOMD_CHECK(Sum(rollout.by_layer) == phantoms);
  PHANTOMD_CHECK(Sum(rollout.stranded_by_end) == rollout.stranded);
  PHANTOMD_CHECK(rollout.wait_p50 <= rollout.wait_max && rollout.wait_max <= rollout.wait_total);
  uint64_t attempts = 0, window_phantoms = 0;
  std::set<ProxyId> proxies;
  for (const ProxyWindow& window : rollout.windows) {
    PHANTOMD_CHECK(proxies.insert(window.proxy_id).second);
    PHANTOMD_CHECK(window.phantoms <= window.attempts);
    PHANTOMD_CHECK(window.last_connection.is_set() == (window.attempts > 0));
    PHANTOMD_CHECK(window.closed_error >= Nanos(0));
    if (window.closed.is_set()) PHANTOMD_CHECK(window.closed >= window.opened);
    attempts += window.attempts;
    window_phantoms += window.phantoms;
  }
  PHANTOMD_CHECK(attempts <= rollout.attempts);  // the application's own have no window
  PHANTOMD_CHECK(window_phantoms <= phantoms);
}

}  // namespace

void CheckVerdict(const Connection& c) {
  const DestinationClass destination = c.destination_class;
  PHANTOMD_CHECK(destination != DestinationClass::kUnspecified);
  PHANTOMD_CHECK(c.initiator == Initiator::kProxy || c.initiator == Initiator::kApplication);
  const bool unknown = destination == DestinationClass::kUnknown;
  PHANTOMD_CHECK((c.unknown_reason != UnknownReason::kUnspecified) == unknown);
  PHANTOMD_CHECK((c.certainty == Certainty::kUnspecified) == unknown);
  PHANTOMD_CHECK((c.cause != Cause::kUnspecified) == MustHaveCause(destination));
  PHANTOMD_CHECK((c.cause == Cause::kBypass) ==
                 (MustHaveCause(destination) && c.initiator == Initiator::kApplication));
  PHANTOMD_CHECK(c.since_withdrawn >= Nanos(0) && c.since_dead >= Nanos(0));
  if (destination == DestinationClass::kDead) PHANTOMD_CHECK(c.current_holder.pod.uid.empty());
}

void CheckReport(const Report& report) {
  const StatusReport& status = report.status;
  PHANTOMD_CHECK(Sum(status.attempts_by_class) == status.attempts);
  PHANTOMD_CHECK(Sum(status.not_judged_by_initiator) == status.not_judged);

  uint64_t attempts = 0, phantoms = 0;
  for (const ProxyReport& proxy : report.proxies) {
    PHANTOMD_CHECK(proxy.phantoms <= proxy.attempts);
    attempts += proxy.attempts;
    phantoms += proxy.phantoms;
  }
  PHANTOMD_CHECK(attempts <= status.attempts);
  uint64_t dead_or_reused = 0;
  for (const auto& [name, count] : status.attempts_by_class) {
    if (name == "DEAD" || name == "REUSED") dead_or_reused += count;
  }
  PHANTOMD_CHECK(phantoms <= dead_or_reused);

  std::set<std::string> names;
  for (const RolloutReport& rollout : report.rollouts) {
    PHANTOMD_CHECK(names.insert(rollout.name).second);
    CheckRollout(rollout);
  }
  for (const auto& [uid, name] : report.rollout_of) PHANTOMD_CHECK(names.contains(name));

  uint64_t kept = 0, sequence = 0;
  for (const auto& chunk : report.connections) {
    for (const auto& connection : *chunk) {
      ++kept;
      PHANTOMD_CHECK(MustHaveCause(connection->destination_class));
      CheckVerdict(*connection);
      PHANTOMD_CHECK(connection->sequence > sequence);
      sequence = connection->sequence;
    }
  }
  PHANTOMD_CHECK(kept <= status.attempts);
  for (const StaleEndpointReport& stale : report.stale_endpoints) {
    PHANTOMD_CHECK(MustHaveCause(stale.destination) && stale.cause != Cause::kUnspecified);
  }
}

}  // namespace phantomd::fuzz
