#include "agent/cmd/daemon/core_loop.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace phantomd {

CoreLoop::CoreLoop(Engine& engine, NodeSource& node, CoreChannels channels, CoreHooks hooks,
                   std::set<ProxyId> inherited)
    : engine_(engine),
      node_(node),
      channels_(channels),
      hooks_(std::move(hooks)),
      inherited_(std::move(inherited)) {
  Publish(engine_.now());
}

bool CoreLoop::Step(BootTime now) {
  const bool consumed = Consume(now);
  EndInherited(now);
  // Whatever is consumed later gets a later stamp.
  engine_.Post({Edge::kProbe, now});
  const bool told = TakeInbox();
  engine_.Advance();
  const bool targets_waited = !targets_.empty();
  OfferTargets();
  const bool demand_is_new = engine_.demand() != told_demand_;
  if (demand_is_new) {
    told_demand_ = engine_.demand();
    channels_.demand.Set(std::make_shared<const PollDemand>(told_demand_));
  }
  // A withdrawal is not left to wait for the Envoy edge's next low mark: polls have to follow on
  // it.
  kube_news_ = kube_news_ && engine_.Awaits(Edge::kEnvoy);
  if (demand_is_new || targets_waited || kube_news_) hooks_.wake_envoy();
  Answer();
  if (now - published_ >= kPublishInterval) Publish(now);
  return consumed || told || demand_is_new;
}

bool CoreLoop::TakeInbox() {
  bool told = false;
  for (EdgePost& post : channels_.inbox.TakeAll()) {
    if (std::holds_alternative<Input>(post.value)) {
      told = true;
      kube_news_ |= post.edge == Edge::kKube;
    }
    engine_.Post(std::move(post));
  }
  return told;
}

void CoreLoop::Finish(BootTime now) {
  node_.Finish(now, [&](ProbeOutput output) { Take(std::move(output), now); });
  engine_.Post({Edge::kProbe, BootTime::Max()});
  TakeInbox();
  engine_.Advance();
  engine_.Finish();
  Answer();
  Publish(now);
}

bool CoreLoop::Consume(BootTime now) {
  bool consumed = false;
  node_.Consume(now, [&](ProbeOutput output) {
    consumed = true;
    Take(std::move(output), now);
  });
  return consumed;
}

void CoreLoop::Take(ProbeOutput output, BootTime now) {
  if (auto* proxy = std::get_if<DiscoveredProxy>(&output)) {
    TakeProxy(std::move(*proxy), now);
  } else if (auto* attempt = std::get_if<Attempt>(&output)) {
    engine_.Post({Edge::kProbe, Input{now, std::move(*attempt)}});
  } else if (auto* end = std::get_if<ConnectionEnd>(&output)) {
    engine_.Post({Edge::kProbe, Input{now, std::move(*end)}});
  } else if (auto* pod_end = std::get_if<PodEnd>(&output)) {
    engine_.Post({Edge::kProbe, Input{now, std::move(*pod_end)}});
  } else {
    engine_.Post({Edge::kProbe, Input{now, std::get<Loss>(std::move(output))}});
  }
}

void CoreLoop::EndInherited(BootTime now) {
  if (!inherited_until_.is_set()) inherited_until_ = now + kInheritedGrace;
  if (now < inherited_until_) return;
  for (const ProxyId& id : std::exchange(inherited_, {})) {
    ProxyChange ended{.gone = true};
    ended.proxy.id = id;
    engine_.Post({Edge::kProbe, Input{now, std::move(ended)}});
  }
}

void CoreLoop::TakeProxy(DiscoveredProxy proxy, BootTime now) {
  inherited_.erase(proxy.proxy.id);
  engine_.Post({Edge::kProbe, Input{now, ProxyChange{proxy.proxy, proxy.gone}}});
  AdminChange change;
  change.gone = proxy.gone;
  change.target.pid = static_cast<pid_t>(proxy.process_id);
  change.target.bootstrap_path = PathInProcess(proxy.bootstrap_path, proxy.process_id);
  change.target.bootstrap_inline = std::move(proxy.bootstrap_inline);
  change.target.proxy = std::move(proxy.proxy);
  targets_.push_back(std::move(change));
}

void CoreLoop::OfferTargets() {
  while (!targets_.empty() && channels_.admin_targets.TryPost(targets_.front())) {
    targets_.pop_front();
  }
}

void CoreLoop::Answer() {
  for (const auto& question : channels_.questions.TakeAll()) {
    const BootTime time = question->time.is_set() ? question->time : engine_.now();
    question->answer.set_value(engine_.Explain(question->address, time));
  }
}

void CoreLoop::Publish(BootTime now) {
  published_ = now;
  AgentHealth health = hooks_.edges_health();
  std::vector<std::string> limitations = node_.Limitations();
  SayNewLimitations(limitations);  // the other edges log their own
  limitations.insert(limitations.end(), health.limitations.begin(), health.limitations.end());
  health.limitations = std::move(limitations);
  health.mailbox_blocked["core"] = channels_.inbox.blocked();
  for (const RecordBalance& balance : node_.Balances()) {
    health.kernel_records[balance.what] = {balance.submitted, balance.read, balance.lost};
  }
  channels_.health.Set(std::make_shared<const AgentHealth>(std::move(health)));
  hooks_.show(engine_.MakeReport());
}

void CoreLoop::SayNewLimitations(const std::vector<std::string>& limitations) {
  for (const std::string& sentence : limitations) {
    if (std::find(said_.begin(), said_.end(), sentence) == said_.end()) {
      spdlog::warn("{}", sentence);
    }
  }
  said_ = limitations;
}

std::string PathInProcess(const std::string& path, uint32_t process_id) {
  const std::string root = fmt::format("/proc/{}/root", process_id);
  const std::string cwd = fmt::format("/proc/{}/cwd/", process_id);
  if (path.starts_with(root + "/")) return path.substr(root.size());
  if (path.starts_with(cwd)) return path.substr(cwd.size());
  return path;
}

}  // namespace phantomd
