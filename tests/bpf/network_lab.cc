#include "tests/bpf/network_lab.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "agent/base/check.h"

namespace phantomd {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    Close();
    fd_ = other.Release();
  }
  return *this;
}

int Fd::Release() { return std::exchange(fd_, -1); }

void Fd::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

NetworkNamespace::NetworkNamespace() {
  std::thread([this] {
    PHANTOMD_CHECK(unshare(CLONE_NEWNET) == 0);
    fd_ = Fd(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    PHANTOMD_CHECK(fd_.get() >= 0);
    const Fd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    socklen_t size = sizeof(cookie_);
    PHANTOMD_CHECK(getsockopt(probe.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie_, &size) == 0);
  }).join();
}

void NetworkNamespace::Run(const std::function<void()>& body) const {
  std::thread([&] {
    PHANTOMD_CHECK(setns(fd_.get(), CLONE_NEWNET) == 0);
    body();
  }).join();
}

void NetworkNamespace::Shell(const std::string& command) const {
  const pid_t child = fork();
  PHANTOMD_CHECK(child >= 0);
  if (child == 0) {
    if (setns(fd_.get(), CLONE_NEWNET) == 0) {
      execl("/bin/sh", "sh", "-ec", command.c_str(), nullptr);
    }
    _exit(127);
  }
  int status = 0;
  PHANTOMD_CHECK(waitpid(child, &status, 0) == child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    ADD_FAILURE() << "failed in a network namespace: " << command;
  }
}

void NetworkNamespace::DeleteLink(const std::string& name) const {
  Run([&] {
    const unsigned index = if_nametoindex(name.c_str());
    PHANTOMD_CHECK(index != 0);
    struct {
      nlmsghdr header;
      ifinfomsg link;
    } request{};
    request.header.nlmsg_len = sizeof(request);
    request.header.nlmsg_type = RTM_DELLINK;
    request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
    request.link.ifi_index = static_cast<int>(index);
    const Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
    PHANTOMD_CHECK(send(socket.get(), &request, sizeof(request), 0) == sizeof(request));
    struct {
      nlmsghdr header;
      nlmsgerr error;
    } answer{};
    PHANTOMD_CHECK(recv(socket.get(), &answer, sizeof(answer), 0) > 0);
    PHANTOMD_CHECK(answer.header.nlmsg_type == NLMSG_ERROR && answer.error.error == 0);
  });
}

std::string NetworkNamespace::path() const {
  return fmt::format("/proc/{}/fd/{}", getpid(), fd_.get());
}

const char* NameOf(Family family) {
  switch (family) {
    case Family::kV4:
      return "v4";
    case Family::kV6:
      return "v6";
    case Family::kMapped:
      return "mapped";
  }
  return "";
}

NetworkLab::NetworkLab() {
  // Duplicate address detection would keep the IPv6 addresses unusable for a second.
  client.Shell(
      fmt::format("ip link set lo up; ip link add v0 type veth peer name v1 netns {};"
                  "sysctl -qw net.ipv6.conf.v0.accept_dad=0; ip link set v0 up;"
                  "ip addr add 10.77.0.2/24 dev v0; ip addr add fd77::2/64 dev v0 nodad",
                  server.path()));
  server.Shell(
      "ip link set lo up; sysctl -qw net.ipv6.conf.v1.accept_dad=0; ip link set v1 up;"
      "ip addr add 10.77.0.1/24 dev v1; ip addr add fd77::1/64 dev v1 nodad;"
      // ICMP errors unthrottled; what is for the silent addresses vanishes.
      "sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0;"
      "nft add table inet lab;"
      "nft 'add chain inet lab in { type filter hook prerouting priority -300; }';"
      "nft add rule inet lab in ip daddr 10.77.9.0/24 drop;"
      "nft add rule inet lab in ip6 daddr fd77:9::/64 drop");
  // A connect that a test expects to fail at once must not hold it up for two minutes when it does
  // not. From 6.5 on the first SYN retransmissions come in equal steps, which adds to TCP_SYNCNT.
  client.Shell(
      "sysctl -qw net.ipv4.tcp_syn_retries=2;"
      "sysctl -qw net.ipv4.tcp_syn_linear_timeouts=0 2>/dev/null || true");
  client.Shell("ip route add 10.77.9.0/24 via 10.77.0.1; ip -6 route add fd77:9::/64 via fd77::1");
}

namespace {

IpAddr Parsed(const char* text) {
  absl::StatusOr<IpAddr> ip = IpAddr::Parse(text);
  PHANTOMD_CHECK(ip.ok());
  return *ip;
}

}  // namespace

IpAddr NetworkLab::Client(Family family) const {
  return Parsed(family == Family::kV6 ? "fd77::2" : "10.77.0.2");
}
IpAddr NetworkLab::Server(Family family) const {
  return Parsed(family == Family::kV6 ? "fd77::1" : "10.77.0.1");
}
IpAddr NetworkLab::Silent(Family family) const {
  return Parsed(family == Family::kV6 ? "fd77:9::9" : "10.77.9.9");
}
IpAddr NetworkLab::Absent(Family family) const {
  return Parsed(family == Family::kV6 ? "fd77::99" : "10.77.0.99");
}

SocketAddress ToSockaddr(Family family, const IpAddr& ip, uint16_t port) {
  SocketAddress out;
  if (family == Family::kV4) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&out.storage);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    std::memcpy(&v4->sin_addr, ip.bytes().data() + 12, 4);
    out.size = sizeof(*v4);
  } else {
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&out.storage);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    std::memcpy(&v6->sin6_addr, ip.bytes().data(), 16);
    out.size = sizeof(*v6);
  }
  return out;
}

void CloseByReset(Fd& fd) {
  const linger reset{1, 0};
  PHANTOMD_CHECK(setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) == 0);
  fd.Close();
}

Fd TcpSocket(Family family, bool blocking) {
  const int domain = family == Family::kV4 ? AF_INET : AF_INET6;
  Fd fd(socket(domain, SOCK_STREAM | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK), 0));
  PHANTOMD_CHECK(fd.get() >= 0);
  return fd;
}

void SetOption(const Fd& fd, int level, int name, int value) {
  PHANTOMD_CHECK(setsockopt(fd.get(), level, name, &value, sizeof(value)) == 0);
}

int Connect(const Fd& fd, Family family, const IpAddr& ip, uint16_t port) {
  const SocketAddress address = ToSockaddr(family, ip, port);
  return connect(fd.get(), address.get(), address.size) == 0 ? 0 : errno;
}

Fd Listen(Family family, uint16_t port) { return Listen(TcpSocket(family, true), family, port); }

Fd Listen(Fd fd, Family family, uint16_t port) {
  SetOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  const SocketAddress any =
      ToSockaddr(family, family == Family::kMapped ? IpAddr::V4(0, 0, 0, 0) : IpAddr(), port);
  PHANTOMD_CHECK(bind(fd.get(), any.get(), any.size) == 0);
  PHANTOMD_CHECK(listen(fd.get(), 1024) == 0);
  return fd;
}

uint16_t LocalPort(const Fd& fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  PHANTOMD_CHECK(getsockname(fd.get(), reinterpret_cast<sockaddr*>(&storage), &size) == 0);
  return ntohs(storage.ss_family == AF_INET ? reinterpret_cast<sockaddr_in*>(&storage)->sin_port
                                            : reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port);
}

bool WaitFor(const std::function<bool()>& condition, std::chrono::milliseconds deadline) {
  const auto until = std::chrono::steady_clock::now() + deadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    poll(nullptr, 0, 2);
  }
  return true;
}

}  // namespace phantomd
