// What Belief must answer, told the slow way: it keeps every snapshot whole, as the complete list
// of what the proxy would have connected to, and reads every answer off those lists.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/belief/belief.h"

namespace phantomd::testing {

class BeliefOracle {
 public:
  struct Facts {
    Hold hold;
    BootTime first_seen, last_seen, gone_by;
    bool received_before;
    int64_t connects_around;
    friend bool operator==(const Facts&, const Facts&) = default;
  };

  void Apply(const BeliefSnapshot& snapshot);
  void Lost();  // what follows the last snapshot is incomplete
  void Gone(BootTime when);

  bool Usable(BootTime t) const;
  std::optional<Facts> At(const std::string& cluster, const SocketAddr& address, BootTime t) const;
  TimeBounds LetGo(const IpAddr& ip, BootTime from, BootTime until) const;
  bool BelievesNow(const IpAddr& ip) const;

 private:
  struct Endpoint {
    Hold hold;
    uint64_t connects;
  };
  using Content = std::map<SocketAddr, Endpoint>;
  struct View {
    BootTime requested, received;
    bool poll = true;            // false: the proxy ended
    bool whole = false;          // what is not in `clusters` did not exist
    bool follows = false;        // nothing was lost between the view before and this one
    std::set<std::string> told;  // clusters that this snapshot itself spoke of
    std::map<std::string, Content> clusters;
    std::map<std::string, BootTime> updated;
  };
  // One endpoint at one view that knows its cluster.
  struct Sight {
    const View* view;
    std::optional<Endpoint> listed;
    BootTime since;  // when what it tells surely held, if that differs from the sight before
  };
  const std::vector<Sight>& Sights(const std::string& cluster, const SocketAddr& address) const;
  std::vector<Sight> Look(const std::string& cluster, const SocketAddr& address) const;
  struct Span {
    BootTime first_at, last_requested, gone_at;
  };
  std::vector<Span> Spans(const std::vector<Sight>& sights) const;
  int64_t Connects(const std::vector<Sight>& sights, size_t first, size_t last, BootTime t) const;

  std::vector<View> views_;
  std::map<std::string, std::set<SocketAddr>> ever_;
  // Looked through once after the last snapshot, then remembered.
  mutable std::map<std::pair<std::string, SocketAddr>, std::vector<Sight>> looked_;
};

}  // namespace phantomd::testing
