#include "tests/bpf/storm_net.h"

#include <fmt/format.h>

#include "agent/base/check.h"

namespace phantomd {

namespace {

IpAddr Parsed(const std::string& text) {
  absl::StatusOr<IpAddr> ip = IpAddr::Parse(text);
  PHANTOMD_CHECK(ip.ok());
  return *ip;
}

}  // namespace

StormNet::StormNet(int count) {
  // Without a mask no ICMP is held back, however many a second.
  server.Shell(
      "ip link set lo up; ip addr add 10.81.0.1/32 dev lo; sysctl -qw net.ipv4.icmp_ratemask=0;"
      "sysctl -qw net.ipv6.conf.default.accept_dad=0;"
      "nft add table inet storm;"
      "nft 'add chain inet storm in { type filter hook prerouting priority -300; }';"
      "nft add rule inet storm in ip daddr 10.80.0.0/16 drop;"
      "nft add rule inet storm in ip6 daddr fd80::/16 drop;"
      "nft 'add chain inet storm own { type filter hook input priority 0; }';"
      "nft add rule inet storm own ip daddr 10.81.0.1 reject with icmp type host-unreachable");
  for (int i = 0; i < count; ++i) {
    clients.emplace_back().Shell(
        fmt::format("sysctl -qw net.ipv6.conf.default.accept_dad=0; ip -batch - <<END\n"
                    "link set lo up\n"
                    "link add v0 type veth peer name v{0} netns {1}\n"
                    "link set v0 up\n"
                    "addr add 10.78.{0}.2/24 dev v0\n"
                    "addr add fd78:{0}::2/64 dev v0 nodad\n"
                    "route add default via 10.78.{0}.1\n"
                    "route add blackhole 10.79.0.0/16\n"
                    "END\n",
                    i, server.path()));
    server.Shell(
        fmt::format("ip -batch - <<END\n"
                    "link set v{0} up\n"
                    "addr add 10.78.{0}.1/24 dev v{0}\n"
                    "addr add fd78:{0}::1/64 dev v{0} nodad\n"
                    "END\n",
                    i));
    clients.back().Shell(fmt::format("ip -6 route add default via fd78:{}::1", i));
  }
}

IpAddr StormNet::Client(int index, Family family) {
  if (family != Family::kV6) return IpAddr::V4(10, 78, index, 2);
  return Parsed(fmt::format("fd78:{}::2", index));
}

IpAddr StormNet::Server(int index, Family family) {
  if (family != Family::kV6) return IpAddr::V4(10, 78, index, 1);
  return Parsed(fmt::format("fd78:{}::1", index));
}

IpAddr StormNet::Silent(Family family) {
  return family == Family::kV6 ? Parsed("fd80::1") : IpAddr::V4(10, 80, 0, 1);
}

}  // namespace phantomd
