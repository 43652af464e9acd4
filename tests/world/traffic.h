// Traffic: the connections that proxies and applications of the own node open, with the outcome
// that the kernel would report, and with what was true at each SYN.
//
// A SYN meets whoever is at the address when it is sent: it is answered, refused, rejected, or
// lost in silence; then it is sent again after 1, 3 and 7 s, until somebody answers or the caller
// gives up. Thread-compatible.
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "tests/world/agent_inbox.h"
#include "tests/world/control_plane.h"
#include "tests/world/truth.h"

namespace phantomd::world {

class Traffic {
 public:
  Traffic(const Scenario& scenario, Agenda& agenda, Cluster& cluster, ControlPlane& control,
          AgentInbox& inbox, Random random);

  // The proxy, and its application, open connections until `end`; SYNs before `watched_from` are
  // not seen by the agent, unless they are still out then.
  void Begin(SimulatedProxy& proxy, BootTime watched_from, BootTime end);
  const std::deque<TrueAttempt>& attempts() const { return attempts_; }

 private:
  struct Target {
    SocketAddr address;
    const Pod* meant = nullptr;
    const Service* service = nullptr;   // null: the opener means no Service
    Cause cause = Cause::kUnspecified;  // were it not in service
    Initiator initiator = Initiator::kProxy;
    SimulatedProxy* proxy = nullptr;
    size_t cluster = SIZE_MAX;
  };
  struct Flight {
    size_t attempt;
    Target target;
    BootTime give_up;
    uint32_t sent = 0;
    bool kernel_gives_up = false;
    bool seen = true;
    BootTime watched_from;
  };
  // What an application remembers of a DNS answer.
  struct Remembered {
    Assignment answer;
    BootTime until;
  };

  void Next(SimulatedProxy& proxy, BootTime watched_from, BootTime end);
  void Connect(SimulatedProxy& proxy, BootTime watched_from);
  bool Choose(SimulatedProxy& proxy, Target& target);
  bool ChooseHost(SimulatedProxy& proxy, Target& target);
  bool ChooseDropped(SimulatedProxy& proxy, Target& target);
  bool ChooseRemembered(SimulatedProxy& proxy, const Service& service, Target& target);
  void ChooseOutside(Target& target);
  TrueAttempt TruthOf(const Target& target) const;
  void SendSyn(Flight flight);
  void End(const Flight& flight, Outcome outcome, int error);

  const Scenario& scenario_;
  Agenda& agenda_;
  Cluster& cluster_;
  ControlPlane& control_;
  AgentInbox& inbox_;
  Random random_;
  std::deque<TrueAttempt> attempts_;
  std::map<std::pair<const SimulatedProxy*, const Service*>, Remembered> remembered_;
};

}  // namespace phantomd::world
