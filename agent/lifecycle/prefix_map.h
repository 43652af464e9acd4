// PrefixMap finds the address range that holds an address, among many.
//
// One hash look-up per prefix length in use rather than one comparison per range: a cluster has
// thousands of Nodes, whose podCIDRs have one or two lengths. The longest range wins.
// Example: 10.0.1.0/24 -> "a", 10.0.0.0/16 -> "b": 10.0.1.7 is a's, 10.0.2.7 b's, 10.1.0.1
// nobody's.
//
// Thread-compatible.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "agent/base/ip_addr.h"

namespace phantomd {

class PrefixMap {
 public:
  void Set(const IpPrefix& prefix, std::string_view owner) {
    by_bits_[prefix.bits()][prefix.base()] = std::string(owner);
  }

  void Erase(const IpPrefix& prefix) {
    const auto it = by_bits_.find(prefix.bits());
    if (it == by_bits_.end()) return;
    it->second.erase(prefix.base());
    if (it->second.empty()) by_bits_.erase(it);
  }

  bool empty() const { return by_bits_.empty(); }

  template <typename Visit>
  void ForEachBase(Visit visit) const {
    for (const auto& [bits, owners] : by_bits_) {
      for (const auto& [base, owner] : owners) visit(base);
    }
  }

  // null: no range holds it.
  const std::string* Find(const IpAddr& ip) const {
    for (const auto& [bits, owners] : by_bits_) {
      const auto it = owners.find(Masked(ip, bits));
      if (it != owners.end()) return &it->second;
    }
    return nullptr;
  }

 private:
  static IpAddr Masked(const IpAddr& ip, int bits) {
    std::array<uint8_t, 16> bytes = ip.bytes();
    for (int bit = bits; bit < 128;) {
      if (bit % 8 == 0) {
        bytes[bit / 8] = 0;
        bit += 8;
      } else {
        bytes[bit / 8] &= static_cast<uint8_t>(0xff00 >> (bit % 8));
        bit += 8 - bit % 8;
      }
    }
    return IpAddr::FromBytes(bytes.data());
  }

  std::map<int, absl::flat_hash_map<IpAddr, std::string>, std::greater<>> by_bits_;
};

}  // namespace phantomd
