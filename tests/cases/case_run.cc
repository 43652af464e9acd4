#include "tests/cases/case_run.h"

#include <algorithm>
#include <map>

#include "agent/base/check.h"
#include "agent/ledger/names.h"
#include "agent/verdict/names.h"
#include "fmt/format.h"

namespace phantomd::testing {
namespace {

std::string Kind(const Connection& c) {
  std::string out(NameOf(c.destination_class));
  if (c.unknown_reason != UnknownReason::kUnspecified) {
    out += fmt::format(" {}", Name(c.unknown_reason));
  }
  if (c.certainty != Certainty::kUnspecified) out += fmt::format(" {}", Name(c.certainty));
  if (c.cause != Cause::kUnspecified) out += fmt::format(" {}", NameOf(c.cause));
  out += fmt::format(" {}", NameOf(c.outcome));
  if (c.layer != Layer::kUnspecified) out += fmt::format(" {}", NameOf(c.layer));
  return out;
}

}  // namespace

CaseRun::CaseRun(const CaseScript& script)
    : engine_(std::make_unique<Engine>(script.header, BootTime::FromNanos(1), Engine::Options{},
                                       nullptr,
                                       [this](const Connection& c) { judged_.push_back(c); })) {
  for (const Input& input : script.Inputs()) PHANTOMD_CHECK(engine_->Replay(input).ok());
  engine_->Finish();
  report_ = engine_->MakeReport();
}

std::string CaseRun::Verdicts(std::string_view proxy) const {
  std::map<std::string, int> counts;
  for (const Connection& connection : judged_) {
    if (proxy.empty() || connection.proxy_id.value() == proxy) ++counts[Kind(connection)];
  }
  std::vector<std::pair<std::string, int>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string out;
  for (const auto& [kind, count] : sorted) out += fmt::format("{} {}\n", count, kind);
  return out;
}

std::string CaseRun::Rollouts() const {
  std::string out;
  for (const RolloutReport& r : report_->rollouts) {
    out += fmt::format("{} {}/{}/{} {}->{}: {} pods, {} withdrawn {} dead {} reused {} other\n",
                       Name(r.departure), r.workload.ns, r.workload.kind, r.workload.name,
                       r.from_revision, r.to_revision, r.pods_departed, r.withdrawn, r.dead,
                       r.reused, r.other);
  }
  return out;
}

std::string CaseRun::Windows(size_t rollout) const {
  std::string out;
  for (const ProxyWindow& window : report_->rollouts.at(rollout).windows) {
    out += window.proxy_name;
    if (window.closed.is_set()) {
      out += fmt::format(" closed {:.2f}+-{:.3f}", InSeconds(window.closed - BootTime()),
                         InSeconds(window.closed_error));
    } else {
      out += " open";
    }
    if (window.last_connection.is_set()) {
      out += fmt::format(", last {:.2f}", InSeconds(window.last_connection - BootTime()));
    }
    out += fmt::format(", {} attempts, {} phantoms\n", window.attempts, window.phantoms);
  }
  return out;
}

std::string CaseRun::Stale() const {
  std::string out;
  for (const StaleEndpointReport& stale : report_->stale_endpoints) {
    out += fmt::format("{} {} {} {}\n", stale.proxy_name, stale.address.ip.ToString(),
                       NameOf(stale.destination), NameOf(stale.cause));
  }
  return out;
}

}  // namespace phantomd::testing
