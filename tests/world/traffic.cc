#include "tests/world/traffic.h"

#include <algorithm>
#include <cerrno>

namespace phantomd::world {
namespace {

constexpr uint32_t kProcess = 1000;
constexpr double kSynLost = 0.0004;  // of SYNs to somebody who would have answered

}  // namespace

Traffic::Traffic(const Scenario& scenario, Agenda& agenda, Cluster& cluster, ControlPlane& control,
                 AgentInbox& inbox, Random random)
    : scenario_(scenario),
      agenda_(agenda),
      cluster_(cluster),
      control_(control),
      inbox_(inbox),
      random_(std::move(random)) {}

void Traffic::Begin(SimulatedProxy& proxy, BootTime watched_from, BootTime end) {
  Next(proxy, watched_from, end);
}

void Traffic::Next(SimulatedProxy& proxy, BootTime watched_from, BootTime end) {
  const BootTime next = agenda_.now() + Span(random_.Exponential(60 / scenario_.attempts));
  if (next > end) return;
  agenda_.At(next, [this, &proxy, watched_from, end] {
    if (!proxy.alive) return;
    Connect(proxy, watched_from);
    Next(proxy, watched_from, end);
  });
}

// --- Where to ---

bool Traffic::ChooseHost(SimulatedProxy& proxy, Target& target) {
  std::vector<size_t> usable;
  for (size_t i = 0; i < proxy.clusters().size(); ++i) {
    const SimulatedProxy::ClusterState& cluster = proxy.clusters()[i];
    const bool rare = cluster.discovery == Discovery::kStatic;
    if (cluster.discovery == Discovery::kOriginalDst && cluster.service == nullptr) continue;
    if (rare && !random_.Chance(0.2)) continue;
    usable.push_back(i);
  }
  if (usable.empty()) return false;
  const size_t index = random_.Any(usable);
  SimulatedProxy::ClusterState& cluster = proxy.clusters()[index];
  target.proxy = &proxy;
  target.cluster = index;
  if (cluster.discovery == Discovery::kOriginalDst) {
    if (!ChooseRemembered(proxy, *cluster.service, target)) return false;
    target.service = cluster.service;
    target.cause = Cause::kClientAddress;
    proxy.Use(index, {target.address, target.meant});
    return true;
  }
  std::vector<std::pair<SocketAddr, const SimulatedProxy::Host*>> hosts;
  for (const auto& [address, host] : cluster.hosts) {
    if (!host.failed_check) hosts.push_back({address, &host});
  }
  if (hosts.empty()) return false;
  const auto& [address, host] = random_.Any(hosts);
  target.address = address;
  target.meant = host->pod;
  target.service = cluster.service;
  switch (cluster.discovery) {
    case Discovery::kStatic:
      target.cause = Cause::kStaticConfig;
      break;
    case Discovery::kStrictDns:
      target.cause = Cause::kStaleDns;
      break;
    default:
      target.cause = host->assigned ? Cause::kStaleEds : Cause::kHeldByProxy;
  }
  return true;
}

// A connection that was about to be opened when its host was taken away, or a retry.
bool Traffic::ChooseDropped(SimulatedProxy& proxy, Target& target) {
  const double age = random_.Exponential(0.5);
  for (auto it = proxy.dropped().rbegin(); it != proxy.dropped().rend(); ++it) {
    if (agenda_.now() - it->at > Span(age)) break;
    const SimulatedProxy::ClusterState& cluster = proxy.clusters()[it->cluster];
    if (it->pod == nullptr || cluster.service == nullptr ||
        cluster.discovery == Discovery::kOriginalDst) {
      continue;
    }
    if (proxy.FindHost(it->cluster, it->address) != nullptr) continue;
    target.address = it->address;
    target.meant = it->pod;
    target.service = cluster.service;
    target.cause = Cause::kAfterRemoval;
    return true;
  }
  return false;
}

bool Traffic::ChooseRemembered(SimulatedProxy& proxy, const Service& service, Target& target) {
  Remembered& memory = remembered_[{&proxy, &service}];
  if (memory.answer.empty() || agenda_.now() >= memory.until) {
    memory.answer = control_.DnsOf(service);
    memory.until = agenda_.now() + Span(random_.Uniform(3, 25));
  }
  if (memory.answer.empty()) return false;
  const Listed& listed = random_.Any(memory.answer);
  target.address = listed.address;
  target.meant = listed.pod;
  return true;
}

void Traffic::ChooseOutside(Target& target) {
  target.cause = Cause::kClientAddress;
  if (random_.Chance(0.3)) {
    target.address = {random_.Any(cluster_.nodes()).address, 10250};
  } else {
    target.address = {IpAddr::V4(93, 184, 216, static_cast<uint8_t>(random_.Index(8))), 443};
  }
}

bool Traffic::Choose(SimulatedProxy& proxy, Target& target) {
  const double which = random_.Uniform();
  if (which < 0.03 && ChooseDropped(proxy, target)) return true;
  if (which > 0.99) {
    ChooseOutside(target);
    return true;
  }
  if (which > 0.98) {  // by the application itself, or through the proxy to what it names
    if (!ChooseRemembered(proxy, random_.Any(cluster_.services()), target)) return false;
    const bool bypass = random_.Chance(0.6);
    target.initiator = bypass ? Initiator::kApplication : Initiator::kProxy;
    target.cause = bypass ? Cause::kBypass : Cause::kClientAddress;
    if (bypass) return true;
    for (size_t i = 0; i < proxy.clusters().size(); ++i) {
      const SimulatedProxy::ClusterState& cluster = proxy.clusters()[i];
      if (cluster.discovery != Discovery::kOriginalDst || cluster.service != nullptr) continue;
      target.proxy = &proxy;
      target.cluster = i;
      proxy.Use(i, {target.address, target.meant});
    }
    return true;
  }
  return ChooseHost(proxy, target);
}

// --- What is true ---

TrueAttempt Traffic::TruthOf(const Target& target) const {
  TrueAttempt truth;
  truth.meant = target.meant;
  truth.holder = cluster_.HolderOf(target.address.ip);
  if (!cluster_.IsPodAddress(target.address.ip)) {
    truth.destination = DestinationClass::kExternal;
    return truth;
  }
  if (truth.holder == nullptr) {
    truth.destination = DestinationClass::kDead;
  } else if (target.service != nullptr && truth.holder->workload != target.service->selects) {
    truth.destination = DestinationClass::kReused;
  } else {
    truth.destination =
        truth.holder->withdrawn ? DestinationClass::kWithdrawn : DestinationClass::kLive;
  }
  if (truth.destination != DestinationClass::kLive) truth.cause = target.cause;
  return truth;
}

// --- The connection itself ---

void Traffic::Connect(SimulatedProxy& proxy, BootTime watched_from) {
  Target target;
  if (!Choose(proxy, target)) return;
  TrueAttempt truth = TruthOf(target);
  Attempt& attempt = truth.attempt;
  attempt.proxy_id = ProxyId(proxy.id());
  attempt.process_id = kProcess;
  attempt.thread_id = kProcess + 1;
  attempt.initiator = target.initiator;
  attempt.source = {IpAddr::V4(10, 0, 1, 1), static_cast<uint16_t>(20000 + random_.Index(40000))};
  attempt.destination = target.address;
  attempt.started = agenda_.now();
  attempt.socket_cookie = attempts_.size() + 1;
  attempts_.push_back(truth);

  Flight flight{.attempt = attempts_.size() - 1, .target = target, .watched_from = watched_from};
  flight.kernel_gives_up = target.initiator == Initiator::kApplication && random_.Chance(0.3);
  flight.give_up = agenda_.now() + (flight.kernel_gives_up ? Span(15)  // tcp_syn_retries = 3
                                                           : Span(proxy.connect_timeout));
  if (target.proxy != nullptr) {
    if (auto* host = proxy.FindHost(target.cluster, target.address)) ++host->connects;
  }
  SendSyn(std::move(flight));
}

void Traffic::SendSyn(Flight flight) {
  Answer answer = cluster_.AnswerOf(flight.target.address);
  if (answer != Answer::kSilence && random_.Chance(kSynLost)) answer = Answer::kSilence;
  const Nanos round_trip = random_.Delay(0.0004, 0.7, 0.02);
  switch (answer) {
    case Answer::kAccepts:
      agenda_.In(round_trip, [this, flight] { End(flight, Outcome::kEstablished, 0); });
      return;
    case Answer::kRefuses:
      agenda_.In(round_trip, [this, flight] { End(flight, Outcome::kRefused, ECONNREFUSED); });
      return;
    case Answer::kUnreachable:
      agenda_.In(round_trip, [this, flight] { End(flight, Outcome::kUnreachable, EHOSTUNREACH); });
      return;
    case Answer::kSilence:
      break;
  }
  const BootTime again = agenda_.now() + Span(1u << flight.sent);
  if (again >= flight.give_up) {
    agenda_.At(flight.give_up, [this, flight] {
      End(flight, flight.kernel_gives_up ? Outcome::kTimedOut : Outcome::kAbandoned,
          flight.kernel_gives_up ? ETIMEDOUT : 0);
    });
    return;
  }
  ++flight.sent;
  agenda_.At(again, [this, flight] { SendSyn(flight); });
}

void Traffic::End(const Flight& flight, Outcome outcome, int error) {
  TrueAttempt& truth = attempts_[flight.attempt];
  Attempt& attempt = truth.attempt;
  attempt.ended = agenda_.now();
  attempt.outcome = outcome;
  attempt.error_number = error;
  attempt.syn_retransmits = flight.sent;
  SimulatedProxy* proxy = flight.target.proxy;
  if (proxy != nullptr && outcome != Outcome::kEstablished) {
    if (auto* host = proxy->FindHost(flight.target.cluster, flight.target.address)) {
      ++host->failures;
    }
  }
  if (attempt.ended < flight.watched_from) return;
  if (attempt.started < flight.watched_from) {
    // Its SYN was out when the agent began: when it was sent, nobody can tell any more.
    attempt.started = flight.watched_from;
    attempt.adopted = true;
  }
  truth.told = true;
  agenda_.In(Span(random_.Uniform(0.0005, 0.05)),
             [this, &truth] { inbox_.Learn(Edge::kProbe, truth.attempt); });
}

}  // namespace phantomd::world
