#include "tests/world/simulation.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace phantomd::world {
namespace {

BootTime At(double seconds) { return BootTime() + Span(seconds); }

constexpr double kBegin = 100;
constexpr double kSettles = 12;  // until the first workloads run
constexpr double kSilence = 75;  // at the end: longer than anything waits

Engine::AppliedSink KeepIf(bool keep, std::vector<Input>& into) {
  if (!keep) return nullptr;
  return [&into](const Input& input) { into.push_back(input); };
}

}  // namespace

Header HeaderOf(const Scenario& scenario) {
  Header header;
  header.offset = WallOffset(kWallBase);
  header.node_name = "node-1";
  header.agent_version = "simulated";
  if (scenario.endpointslices_scope) header.settings.pod_scope = "endpointslices";
  return header;
}

Simulation::Simulation(const Scenario& scenario, uint64_t seed, Options options)
    : scenario_(scenario),
      seed_(seed),
      begin_(At(kBegin)),
      agent_started_(At(kBegin + scenario.agent_starts)),
      traffic_ends_(agent_started_ + Span(scenario.watched)),
      random_(seed),
      engine_(HeaderOf(scenario), agent_started_, Engine::Options{},
              KeepIf(options.keep_inputs, inputs_),
              [this](const Connection& connection) { judged_.push_back(connection); }),
      inbox_(agenda_, engine_, random_.Fork()),
      cluster_(scenario_, agenda_, random_.Fork()),
      deployer_(scenario_, agenda_, cluster_, random_.Fork()),
      control_(scenario_, agenda_, cluster_, random_.Fork()),
      feed_(scenario_, agenda_, cluster_, inbox_, random_.Fork()),
      poller_(scenario_, agenda_, inbox_, random_.Fork()),
      traffic_(scenario_, agenda_, cluster_, control_, inbox_, random_.Fork()) {
  cluster_.Watch(this);
}

void Simulation::Run() {
  agenda_.At(begin_, [this] { deployer_.MakeWorkloads(); });
  agenda_.At(begin_ + Span(kSettles), [this] {
    deployer_.Begin(traffic_ends_);
    for (uint32_t i = 0; i < scenario_.proxies; ++i) AddProxy();
  });
  agenda_.At(agent_started_, [this] { StartAgent(); });
  agenda_.RunUntil(traffic_ends_ + Span(kSilence));
  engine_.Finish();
}

void Simulation::StartAgent() {
  agent_runs_ = true;
  feed_.Start();
  for (SimulatedProxy& proxy : proxies_) Discover(proxy);
  inbox_.Run();
  poller_.Run();
  Every(scenario_.gaps,
        [this] { feed_.Break(Span(random_.Uniform(0.5, 20)), random_.Chance(0.5)); });
  Every(scenario_.proxy_restarts, [this] { RestartProxy(); });
}

void Simulation::Every(double per_minute, const std::function<void()>& action) {
  if (per_minute <= 0) return;
  const BootTime next = agenda_.now() + Span(random_.Exponential(60 / per_minute));
  if (next >= traffic_ends_) return;
  agenda_.At(next, [this, per_minute, action] {
    action();
    Every(per_minute, action);
  });
}

void Simulation::Discover(SimulatedProxy& proxy) {
  inbox_.Learn(Edge::kProbe, ProxyChange{{.id = ProxyId(proxy.id()), .name = proxy.id()}});
  poller_.Add(proxy);
}

void Simulation::AddProxy() {
  SimulatedProxy& proxy = proxies_.emplace_back(
      fmt::format("proxy-{}", proxies_.size() + 1), agenda_, cluster_, random_.Fork(),
      [this](const SimulatedProxy& of, const SimulatedProxy::ClusterState& cluster,
             const SocketAddr& address, const Pod* before, const Pod* after) {
        windows_.HostChanged(of, cluster, address, before, after, agenda_.now());
      });
  static const double kTimeouts[] = {1, 5, 10};
  proxy.connect_timeout = kTimeouts[random_.Index(3)];
  proxy.keeps_update_time = random_.Chance(scenario_.update_times);
  for (Service& service : cluster_.services()) {
    SimulatedProxy::ClusterState cluster;
    cluster.service = &service;
    cluster.names_service = scenario_.clusters_name_services;
    cluster.layer = random_.Chance(0.7) ? Layer::kL4 : Layer::kL7;
    cluster.name =
        fmt::format("outbound|{}||{}.{}.svc.cluster.local", kPort, service.name, service.ns);
    const double which = random_.Uniform();
    if (which < scenario_.dns) {
      cluster.discovery = Discovery::kStrictDns;
    } else if (which < scenario_.dns + scenario_.original_dst) {
      cluster.discovery = Discovery::kOriginalDst;
    } else {
      cluster.health_checked = random_.Chance(scenario_.held);
    }
    proxy.AddCluster(std::move(cluster));
  }
  proxy.AddCluster(
      {.name = "PassthroughCluster", .discovery = Discovery::kOriginalDst, .names_service = false});
  if (random_.Chance(scenario_.static_clusters)) {
    const Service& service = random_.Any(cluster_.services());
    const size_t index = proxy.AddCluster({.name = "pinned",
                                           .service = &service,
                                           .discovery = Discovery::kStatic,
                                           .names_service = false});
    proxy.Assign(index, control_.ReadyOf(service));
  }
  control_.Connect(proxy, traffic_ends_ + Span(kSilence));
  proxy.RunTimers(traffic_ends_ + Span(kSilence));
  traffic_.Begin(proxy, agent_started_, traffic_ends_);
  if (!agent_runs_) return;  // it looks around when it starts
  agenda_.In(random_.Delay(0.01, 0.7, 0.2), [this, &proxy] { Discover(proxy); });
}

void Simulation::RestartProxy() {
  std::vector<SimulatedProxy*> living;
  for (SimulatedProxy& proxy : proxies_) {
    if (proxy.alive) living.push_back(&proxy);
  }
  SimulatedProxy& old = *random_.Any(living);
  old.alive = false;
  control_.Disconnect(old);
  agenda_.In(random_.Delay(0.02, 0.7, 0.3), [this, &old] {
    poller_.Remove(old);
    inbox_.Learn(Edge::kProbe, ProxyChange{{.id = ProxyId(old.id()), .name = old.id()}, true});
  });
  agenda_.In(Span(random_.Uniform(0.5, 3)), [this] { AddProxy(); });
}

std::vector<const SimulatedProxy*> Simulation::LivingProxies() const {
  std::vector<const SimulatedProxy*> out;
  for (const SimulatedProxy& proxy : proxies_) {
    if (proxy.alive) out.push_back(&proxy);
  }
  return out;
}

void Simulation::Withdrawn(const Pod& pod) {
  windows_.Withdrawn(pod, agenda_.now(), LivingProxies());
}

// A pod that dies in service was never withdrawn before: its window opens now.
void Simulation::Died(const Pod& pod) {
  if (!pod.withdrawn) windows_.Withdrawn(pod, agenda_.now(), LivingProxies());
}

bool Simulation::GapWithin(BootTime from, BootTime to) const {
  return std::any_of(feed_.gaps().begin(), feed_.gaps().end(),
                     [&](const auto& gap) { return to >= gap.first && from <= gap.second; });
}

}  // namespace phantomd::world
