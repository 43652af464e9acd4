// AddressIndex tells which proxies and clusters list, or are remembered to have listed, an IP.
//
// One entry per (IP, proxy, cluster), whatever the number of ports; the entries of an IP are sorted
// by proxy, then cluster. Thread-compatible.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "agent/base/ip_addr.h"

namespace phantomd {

class AddressIndex {
 public:
  struct Place {
    uint32_t proxy = 0;    // the proxy's number
    uint32_t cluster = 0;  // the cluster's name, as a number
    friend auto operator<=>(const Place&, const Place&) = default;
  };

  void Add(const IpAddr& ip, Place place) {
    Places& places = by_ip_[ip];
    const auto at = std::lower_bound(places.begin(), places.end(), place);
    if (at == places.end() || *at != place) places.insert(at, place);
  }

  void Remove(const IpAddr& ip, Place place) {
    const auto found = by_ip_.find(ip);
    if (found == by_ip_.end()) return;
    Places& places = found->second;
    const auto at = std::lower_bound(places.begin(), places.end(), place);
    if (at != places.end() && *at == place) places.erase(at);
    if (places.empty()) by_ip_.erase(found);
  }

  std::span<const Place> Of(const IpAddr& ip) const {
    const auto found = by_ip_.find(ip);
    if (found == by_ip_.end()) return {};
    return {found->second.data(), found->second.size()};
  }

  std::span<const Place> Of(const IpAddr& ip, uint32_t proxy) const {
    const std::span<const Place> all = Of(ip);
    const auto first = std::lower_bound(all.begin(), all.end(), Place{proxy, 0});
    auto last = first;
    while (last != all.end() && last->proxy == proxy) ++last;
    return {first, last};
  }

 private:
  using Places = absl::InlinedVector<Place, 1>;
  absl::flat_hash_map<IpAddr, Places> by_ip_;
};

}  // namespace phantomd
