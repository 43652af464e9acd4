// AgentFeed: the watches of the agent on the API server of the simulated cluster.
//
// Each kind is a stream of its own that keeps its order and lags behind by some 20 ms, in the tail
// by most of a second. A watch may break: what was under way is lost, the loss is noticed within
// two seconds, and a new list tells what exists then. It also tells of the own node's pods' ends,
// as the kernel sees them. Thread-compatible.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/world/agent_inbox.h"
#include "tests/world/cluster.h"

namespace phantomd::world {

class AgentFeed : public Watcher {
 public:
  AgentFeed(const Scenario& scenario, Agenda& agenda, Cluster& cluster, AgentInbox& inbox,
            Random random);

  void Start();                     // lists everything, then watches
  void Break(Nanos gap, bool all);  // one feed, or all three
  // Spans in which the agent could not know all: before its first lists, and its gaps, each from
  // feed_delay before the watch was last known to be alive.
  const std::vector<std::pair<BootTime, BootTime>>& gaps() const { return gaps_; }

  bool EverTold(const PodUid& uid) const { return pods_told_.contains(uid); }

  void Stored(const PodChange& change) override;
  void Stored(const SliceChange& change) override;
  void Stored(const NodeChange& change) override;
  void NetworkGone(const Pod& pod) override;

 private:
  using Object = std::variant<PodChange, SliceChange, NodeChange>;
  struct Stream {
    Feed feed;
    bool enabled = true;
    bool connected = false;
    bool broken = false;
    uint64_t watch = 0;  // counts the watches: what an old one still had to say is lost
    BootTime last;       // of what it delivered
    size_t gap = 0;      // of gaps_
    BootTime good_until;
    std::map<std::string, Object> known;
  };
  static std::string KeyOf(const Object& object);
  static Object Gone(Object object, BootTime not_before);

  Stream& Of(Feed feed) { return streams_[static_cast<size_t>(feed) - 1]; }
  void Happened(Stream& stream, Object object);
  void Deliver(Stream& stream, Object object);
  void List(Stream& stream);
  std::vector<Object> Existing(Feed feed);
  bool InScope(const PodChange& change) const;

  const Scenario& scenario_;
  Agenda& agenda_;
  Cluster& cluster_;
  AgentInbox& inbox_;
  Random random_;
  std::array<Stream, 3> streams_;
  std::vector<std::pair<BootTime, BootTime>> gaps_;
  std::set<PodUid> pods_told_;
};

}  // namespace phantomd::world
