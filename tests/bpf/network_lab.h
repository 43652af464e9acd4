// Network namespaces joined by veth, in which tests make real connects.
//
// A namespace has no name and no file: descriptors of this process are all that holds it, so that
// it is gone with the process, however that ends. Nothing here waits for a fixed time: what has to
// become true is polled until a deadline.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "agent/base/ip_addr.h"

namespace phantomd {

// A descriptor that is closed with the object.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() { Close(); }
  Fd(Fd&& other) noexcept : fd_(other.Release()) {}
  Fd& operator=(Fd&& other) noexcept;
  int get() const { return fd_; }
  int Release();
  void Close();

 private:
  int fd_ = -1;
};

class NetworkNamespace {
 public:
  NetworkNamespace();

  // Runs `body` on a thread of its own inside the namespace.
  void Run(const std::function<void()>& body) const;
  // Runs a shell command inside the namespace; fails the test when the command fails.
  void Shell(const std::string& command) const;
  // At once, also where starting a program takes its time.
  void DeleteLink(const std::string& name) const;
  // A path by which `ip` finds the namespace.
  std::string path() const;
  int fd() const { return fd_.get(); }
  uint64_t cookie() const { return cookie_; }

 private:
  Fd fd_;
  uint64_t cookie_ = 0;
};

// How a socket names the peer: all three reach the same kind of host.
enum class Family { kV4, kV6, kMapped };
inline constexpr Family kFamilies[] = {Family::kV4, Family::kV6, Family::kMapped};
const char* NameOf(Family family);

// A client and a server namespace, one veth between them.
//
//   client 10.77.0.2 fd77::2  ---  10.77.0.1 fd77::1 server
//
// The server's side is also the route to 10.77.9.0/24 and fd77:9::/64, where nobody ever answers,
// and to 10.77.8.0/24 and fd77:8::/64, for tests to put there what they need.
class NetworkLab {
 public:
  NetworkLab();

  NetworkNamespace client;
  NetworkNamespace server;

  IpAddr Client(Family family) const;
  IpAddr Server(Family family) const;
  IpAddr Silent(Family family) const;
  // On the client's link, but nobody answers for it there.
  IpAddr Absent(Family family) const;
};

// A sockaddr for connect(2) or bind(2) of a socket of this family.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};
SocketAddress ToSockaddr(Family family, const IpAddr& ip, uint16_t port);

// A TCP socket made in the namespace of the calling thread.
Fd TcpSocket(Family family, bool blocking);
void CloseByReset(Fd& fd);
void SetOption(const Fd& fd, int level, int name, int value);
// 0 or the errno.
int Connect(const Fd& fd, Family family, const IpAddr& ip, uint16_t port);
// Listens on a free port of every address, or on `port`.
Fd Listen(Family family, uint16_t port = 0);
Fd Listen(Fd socket, Family family, uint16_t port);
uint16_t LocalPort(const Fd& fd);

// False when `condition` has not become true in a time in which even an emulated machine does.
bool WaitFor(const std::function<bool()>& condition,
             std::chrono::milliseconds deadline = std::chrono::minutes(2));

}  // namespace phantomd
