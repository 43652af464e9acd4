// NamespaceWatch hears what becomes of other network namespaces and of their links, without keeping
// any of them alive.
//
// It has a network namespace of its own, in which it gives each watched one a number (a netns ID).
// The kernel then tells it there, by rtnetlink: when that namespace is gone, and, since its socket
// listens to all numbered namespaces, when a link or an address in it changes. So no interface
// plugin need do anything in a certain way, the host's own links, routes and numbers stay as they
// are, and nothing is told of namespaces that nobody asked for.
//
// A namespace lives as long as a process, a mount, a descriptor or a socket that still closes: it
// may outlast its last process by minutes. Its link does not.
//
// Example: Watch("/proc/7/ns/net") is 1. eth0 is deleted: TakeChanges() is [{1, not gone}],
// LinkOf(1) NotFound. The last process ends: [{1, gone}].
//
// What the socket had no room for is counted, and every namespace is then told as changed.
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/base/ip_addr.h"

namespace phantomd {

// The link that has a pod's address, and its addresses; none of the loopback or of a link's scope.
struct NamespaceLink {
  uint32_t index = 0;
  std::vector<IpAddr> ips;

  friend bool operator==(const NamespaceLink&, const NamespaceLink&) = default;
};

struct NamespaceChange {
  uint32_t id = 0;
  bool gone = false;  // else its links or addresses changed, or may have

  friend bool operator==(const NamespaceChange&, const NamespaceChange&) = default;
};

class NamespaceWatch {
 public:
  // `receive_bytes`: room for what is not read yet; 0: as the kernel likes.
  // PermissionDenied: CAP_SYS_ADMIN makes the namespace, CAP_NET_BROADCAST listens to all.
  static absl::StatusOr<std::unique_ptr<NamespaceWatch>> Start(int receive_bytes = 0);
  ~NamespaceWatch();
  NamespaceWatch(const NamespaceWatch&) = delete;
  NamespaceWatch& operator=(const NamespaceWatch&) = delete;

  // A number that is never used again; the same for a namespace that is watched already.
  absl::StatusOr<uint32_t> Watch(const std::string& netns_path);
  // Nothing more is told of it. (Its number goes with it: the kernel takes none back.)
  void Forget(uint32_t id) { watched_.erase(id); }

  // What has happened since the last call, each namespace once; never waits.
  std::vector<NamespaceChange> TakeChanges();
  // eth0 where that has an address, as the runtimes name a pod's own link, else the first link that
  // has one. NotFound: none has, or the namespace is gone.
  absl::StatusOr<NamespaceLink> LinkOf(uint32_t id);
  // Whether a link of this number is in it, with an address or without. NotFound: it is gone.
  absl::StatusOr<bool> HasLink(uint32_t id, uint32_t index);

  uint64_t overruns() const { return overruns_; }  // each hid an unknown number of messages

 private:
  NamespaceWatch() = default;
  absl::StatusOr<bool> IsThere(uint32_t id);

  int events_ = -1;  // both in the namespace of its own
  int requests_ = -1;
  uint32_t last_id_ = 0;
  uint64_t overruns_ = 0;
  std::set<uint32_t> watched_;
};

}  // namespace phantomd
