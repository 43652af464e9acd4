// NaiveOracle: who may have held an address, recomputed from all news by scanning them for every
// question. Written from the rules' text, without a line of the index.
//
// Knows what World tells: no Nodes, no kernel, one address a pod.
#pragma once

#include <string>
#include <vector>

#include "tests/lifecycle/world.h"

namespace phantomd::testing {

class NaiveOracle {
 public:
  // Told everything up to `now`.
  NaiveOracle(const std::vector<News>& news, BootTime now);

  // "uid!-[..]" for each possible holder, in the order of their UIDs, then "nobody".
  std::string Who(const IpAddr& ip, BootTime t) const;

 private:
  struct Span {
    int64_t in_from, in, out_from, out;  // out: Max if still in service
    bool by_terminating;
  };
  struct Claim {  // one pod on one address
    std::string uid;
    int64_t told;
    bool strong;
    bool listed;  // told by a list
    int64_t created;
    int64_t acquired_from, acquired, released_from, released;
  };

  int64_t Floor(Feed feed, int64_t observed) const;
  bool CatchingUp(Feed feed, int64_t observed) const;
  std::vector<Claim> ClaimsOf(const IpAddr& ip) const;
  Claim ClaimOf(const std::string& uid, const IpAddr& ip) const;
  std::pair<int64_t, int64_t> RequestOf(const std::string& uid) const;
  std::string ServiceOf(const std::string& uid, int64_t t) const;
  int64_t AliveOf(const std::string& uid) const;
  bool LeavingBy(const std::string& uid, int64_t instant) const;

  std::vector<News> news_;
};

// The same sentence from the index's facts.
std::string WhoByIndex(const AddressFacts& facts);

}  // namespace phantomd::testing
