// Many client namespaces and one server namespace, a veth from each client to the server.
//
//   client i   10.78.i.2 fd78:i::2  ---  10.78.i.1 fd78:i::1   server
//
// From every client 10.79.0.0/16 has no route, what is for 10.80.0.0/16 and fd80::/16 vanishes at
// the server, and 10.81.0.1 is answered for there with an ICMP host-unreachable.
#pragma once

#include <vector>

#include "tests/bpf/network_lab.h"

namespace phantomd {

class StormNet {
 public:
  explicit StormNet(int clients);  // at most 250

  NetworkNamespace server;
  std::vector<NetworkNamespace> clients;

  static IpAddr Client(int index, Family family);
  static IpAddr Server(int index, Family family);
  static IpAddr NoRoute() { return IpAddr::V4(10, 79, 0, 1); }
  static IpAddr Silent(Family family);
  static IpAddr Unreachable() { return IpAddr::V4(10, 81, 0, 1); }
};

}  // namespace phantomd
