// World: a small cluster whose truth is known, and the news of it that an agent would receive.
//
// Pods come and go on few addresses, which are given again as soon as their holder is dead; they
// are rolled, force-deleted, crash, complete, fail without a word when; endpoints turn unready,
// move between slices; feeds break and are mended by lists. News is late by less than feed_delay,
// clocks are wrong by less than clock_error, API times have their grain. It shares no code with the
// rules.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "agent/lifecycle/lifecycle.h"

namespace phantomd::testing {

struct News {
  BootTime observed;
  std::variant<PodChange, SliceChange, NodeChange, PodEnd, FeedChange> change;
};

class World {
 public:
  // `gaps`: feeds break now and then.
  World(uint64_t seed, bool gaps);

  const std::vector<News>& news() const { return news_; }  // by `observed`
  const std::vector<IpAddr>& ips() const { return ips_; }
  BootTime end() const { return end_; }

  // The truth.
  std::string HolderAt(const IpAddr& ip, BootTime t) const;  // UID; empty: nobody
  bool WithdrawnAt(const std::string& uid, BootTime t) const;
  BootTime DeletedAt(const std::string& uid) const;  // its object; Max: never

 private:
  enum class Exit { kRolled, kForced, kFailed, kFailedSilently, kCompleted, kRolledWithoutPhase };
  struct Life {  // of one pod, as it really is
    std::string uid;
    IpAddr ip;
    BootTime from;
    BootTime to;
  };
  struct Event {  // in the API
    BootTime at;
    std::variant<PodChange, SliceChange> state;
    bool slow = true;  // delivered with any delay; else the least
  };

  double Uniform(double low, double high);
  BootTime Later(BootTime t, double low, double high);
  WallTime Stamp(BootTime t, Nanos clock) const;  // as the API would write it
  void LivePod(int number, BootTime born, const IpAddr& ip, BootTime* dead);
  void Serve(const std::string& uid, const IpAddr& ip, BootTime from, BootTime terminating,
             BootTime removed);
  void Deliver(bool gaps);
  template <typename Change>
  void DeliverFeed(Feed feed, bool gaps, std::string (*key)(const Change&));

  std::mt19937_64 random_;
  Nanos api_clock_{0};
  std::vector<IpAddr> ips_;
  BootTime end_;
  std::vector<Life> lives_;
  std::map<std::string, std::vector<std::pair<BootTime, bool>>> withdrawn_;  // changes of the truth
  std::vector<Event> events_;
  std::vector<News> news_;
};

}  // namespace phantomd::testing
