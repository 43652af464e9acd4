#include "agent/probe/namespace_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_addr.h>
#include <linux/net_namespace.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "agent/probe/file_failure.h"

namespace phantomd {
namespace {

constexpr char kPodLink[] = "eth0";

struct NetlinkRequest {
  nlmsghdr header{};
  union {
    rtgenmsg general;
    ifaddrmsg address;
    ifinfomsg link;
  } body{};
  char attributes[64]{};

  NetlinkRequest(uint16_t type, uint16_t flags, size_t body_size) {
    header.nlmsg_type = type;
    header.nlmsg_flags = NLM_F_REQUEST | flags;
    header.nlmsg_len = NLMSG_LENGTH(body_size);
  }
  void Add(uint16_t type, int32_t value) {
    auto* attribute =
        reinterpret_cast<rtattr*>(reinterpret_cast<char*>(&header) + NLMSG_ALIGN(header.nlmsg_len));
    attribute->rta_type = type;
    attribute->rta_len = RTA_LENGTH(sizeof(value));
    std::memcpy(RTA_DATA(attribute), &value, sizeof(value));
    header.nlmsg_len = NLMSG_ALIGN(header.nlmsg_len) + RTA_SPACE(sizeof(value));
  }
};

// Calls `each(type, data, size)` for the attributes that follow a body of that size.
template <typename Each>
void ForEachAttribute(const nlmsghdr& message, size_t body_size, const Each& each) {
  const size_t head = NLMSG_LENGTH(NLMSG_ALIGN(body_size));
  if (message.nlmsg_len < head) return;
  size_t left = message.nlmsg_len - head;
  const auto* attribute =
      reinterpret_cast<const rtattr*>(reinterpret_cast<const char*>(&message) + head);
  for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
    each(attribute->rta_type & NLA_TYPE_MASK, static_cast<const char*>(RTA_DATA(attribute)),
         RTA_PAYLOAD(attribute));
  }
}

template <typename Body>
const Body& BodyOf(const nlmsghdr& message) {
  return *reinterpret_cast<const Body*>(NLMSG_DATA(&message));
}

template <typename Body>
bool HasBody(const nlmsghdr& message) {
  return message.nlmsg_len >= NLMSG_LENGTH(sizeof(Body));
}

// Sends the request and hands out what answers it. 0, or the errno of the kernel's answer.
int AskKernel(int socket, NetlinkRequest request,
              const std::function<void(const nlmsghdr&)>& each) {
  // What an earlier request has left unread is no answer to this one.
  static thread_local uint32_t sequence = 0;
  request.header.nlmsg_seq = ++sequence;
  if (send(socket, &request, request.header.nlmsg_len, 0) < 0) return errno;
  alignas(nlmsghdr) char buffer[32768];
  for (;;) {
    ssize_t size = recv(socket, buffer, sizeof(buffer), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return errno;
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer); NLMSG_OK(message, size);
         message = NLMSG_NEXT(message, size)) {
      if (message->nlmsg_seq != sequence) continue;
      if (message->nlmsg_type == NLMSG_DONE) {
        // A dump's own errors come with its end.
        const int error =
            message->nlmsg_len >= NLMSG_LENGTH(sizeof(int)) ? BodyOf<int>(*message) : 0;
        return -error;
      }
      if (message->nlmsg_type == NLMSG_ERROR) return -BodyOf<nlmsgerr>(*message).error;
      each(*message);
      if (!(message->nlmsg_flags & NLM_F_MULTI) && !(request.header.nlmsg_flags & NLM_F_ACK)) {
        return 0;
      }
    }
  }
}

std::optional<IpAddr> AddressOf(const nlmsghdr& message) {
  std::optional<IpAddr> out;
  bool local = false;
  ForEachAttribute(message, sizeof(ifaddrmsg), [&](int type, const char* data, size_t size) {
    // IFA_ADDRESS of a point-to-point link is the peer's; IFA_LOCAL, where there is one, is ours.
    if (type != IFA_LOCAL && (type != IFA_ADDRESS || local)) return;
    const absl::StatusOr<IpAddr> ip = IpAddr::FromBytes(std::string_view(data, size));
    if (!ip.ok()) return;
    out = *ip;
    local = type == IFA_LOCAL;
  });
  return out;
}

int Socket(int flags) { return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | flags, NETLINK_ROUTE); }

// One without a number of its own hears nothing: it would be the kernel that speaks.
bool GiveNumber(int socket) {
  sockaddr_nl any{};
  any.nl_family = AF_NETLINK;
  return bind(socket, reinterpret_cast<const sockaddr*>(&any), sizeof(any)) == 0;
}

template <typename Value>
bool Set(int socket, int level, int option, Value value) {
  return setsockopt(socket, level, option, &value, sizeof(value)) == 0;
}

// The kernel knows no namespace of that number any more. Every other failure says nothing of it.
absl::Status RequestFailure(const std::string& what, int error) {
  const std::string text = fmt::format("{}: {}", what, std::strerror(error));
  return error == EINVAL ? absl::NotFoundError(text) : absl::UnavailableError(text);
}

}  // namespace

absl::StatusOr<std::unique_ptr<NamespaceWatch>> NamespaceWatch::Start(int receive_bytes) {
  std::unique_ptr<NamespaceWatch> out(new NamespaceWatch);
  int error = 0;
  const auto open = [&] {
    if (unshare(CLONE_NEWNET) != 0) {
      error = errno;
      return;
    }
    out->events_ = Socket(SOCK_NONBLOCK);
    out->requests_ = Socket(0);
    // The kernel answers before send() returns; should an answer be lost, nobody waits for it.
    bool ok = out->events_ >= 0 && out->requests_ >= 0 &&
              Set(out->requests_, SOL_SOCKET, SO_RCVTIMEO, timeval{.tv_sec = 1, .tv_usec = 0}) &&
              // Else the kernel does not read whose addresses are asked for.
              Set(out->requests_, SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1) &&
              Set(out->events_, SOL_NETLINK, NETLINK_LISTEN_ALL_NSID, 1) &&
              GiveNumber(out->events_);
    if (receive_bytes > 0) {
      ok = ok && Set(out->events_, SOL_SOCKET, SO_RCVBUF, receive_bytes);
    }
    for (const int group : {RTNLGRP_NSID, RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR}) {
      ok = ok && Set(out->events_, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group);
    }
    if (!ok) error = errno;
  };
  try {
    std::thread(open).join();
  } catch (const std::system_error& failure) {
    error = failure.code().value();
  }
  if (error != 0) return FileFailure("a network namespace to listen in", error);
  return out;
}

NamespaceWatch::~NamespaceWatch() {
  for (const int fd : {events_, requests_}) {
    if (fd >= 0) close(fd);
  }
}

absl::StatusOr<uint32_t> NamespaceWatch::Watch(const std::string& netns_path) {
  const int netns = open(netns_path.c_str(), O_RDONLY | O_CLOEXEC);
  if (netns < 0) return FileFailure(netns_path, errno);
  NetlinkRequest add(RTM_NEWNSID, NLM_F_ACK, sizeof(rtgenmsg));
  add.Add(NETNSA_NSID, static_cast<int32_t>(last_id_ + 1));
  add.Add(NETNSA_FD, netns);
  int error = AskKernel(requests_, add, [](const nlmsghdr&) {});
  uint32_t id = last_id_ + 1;
  if (error == 0) ++last_id_;
  if (error == EEXIST) {
    NetlinkRequest get(RTM_GETNSID, 0, sizeof(rtgenmsg));
    get.Add(NETNSA_FD, netns);
    error = AskKernel(requests_, get, [&](const nlmsghdr& message) {
      ForEachAttribute(message, sizeof(rtgenmsg), [&](int type, const char* data, size_t size) {
        if (type == NETNSA_NSID && size == sizeof(id)) std::memcpy(&id, data, sizeof(id));
      });
    });
  }
  close(netns);
  if (error != 0) return FileFailure(netns_path, error);
  watched_.insert(id);
  return id;
}

std::vector<NamespaceChange> NamespaceWatch::TakeChanges() {
  std::map<uint32_t, bool> changed;  // and whether it is gone
  alignas(nlmsghdr) char buffer[32768];
  for (;;) {
    iovec part{buffer, sizeof(buffer)};
    alignas(cmsghdr) char control[64];
    msghdr received{};
    received.msg_iov = &part;
    received.msg_iovlen = 1;
    received.msg_control = control;
    received.msg_controllen = sizeof(control);
    ssize_t size = recvmsg(events_, &received, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == ENOBUFS) {
      ++overruns_;
      for (const uint32_t id : watched_) {
        const absl::StatusOr<bool> there = IsThere(id);
        changed[id] |= there.ok() && !*there;
      }
      continue;
    }
    if (size < 0) break;
    // Of which namespace it tells; none: of the one that is ours.
    std::optional<uint32_t> of;
    for (cmsghdr* c = CMSG_FIRSTHDR(&received); c != nullptr; c = CMSG_NXTHDR(&received, c)) {
      if (c->cmsg_level != SOL_NETLINK || c->cmsg_type != NETLINK_LISTEN_ALL_NSID) continue;
      of = 0;
      std::memcpy(&*of, CMSG_DATA(c), sizeof(*of));
    }
    for (auto* message = reinterpret_cast<nlmsghdr*>(buffer); NLMSG_OK(message, size);
         message = NLMSG_NEXT(message, size)) {
      if (of.has_value()) {
        if (watched_.contains(*of)) changed.try_emplace(*of, false);
        continue;
      }
      if (message->nlmsg_type != RTM_DELNSID) continue;
      ForEachAttribute(*message, sizeof(rtgenmsg), [&](int type, const char* data, size_t length) {
        uint32_t id = 0;
        if (type != NETNSA_NSID || length != sizeof(id)) return;
        std::memcpy(&id, data, sizeof(id));
        if (watched_.contains(id)) changed[id] = true;
      });
    }
  }
  std::vector<NamespaceChange> out;
  for (const auto& [id, gone] : changed) {
    out.push_back({id, gone});
    if (gone) watched_.erase(id);
  }
  return out;
}

absl::StatusOr<bool> NamespaceWatch::IsThere(uint32_t id) {
  const absl::StatusOr<bool> loopback = HasLink(id, 1);
  if (absl::IsNotFound(loopback.status())) return false;
  return loopback.ok() ? absl::StatusOr<bool>(true) : loopback.status();
}

absl::StatusOr<bool> NamespaceWatch::HasLink(uint32_t id, uint32_t index) {
  NetlinkRequest request(RTM_GETLINK, 0, sizeof(ifinfomsg));
  request.body.link.ifi_index = static_cast<int>(index);
  request.Add(IFLA_TARGET_NETNSID, static_cast<int32_t>(id));
  const int error = AskKernel(requests_, request, [](const nlmsghdr&) {});
  if (error == 0) return true;
  if (error == ENODEV) return false;
  return RequestFailure(fmt::format("link {} of namespace {}", index, id), error);
}

absl::StatusOr<NamespaceLink> NamespaceWatch::LinkOf(uint32_t id) {
  std::map<uint32_t, std::vector<IpAddr>> by_link;
  const std::string what = fmt::format("addresses of namespace {}", id);
  int error = 0;
  for (const uint8_t family : {AF_INET, AF_INET6}) {
    NetlinkRequest addresses(RTM_GETADDR, NLM_F_DUMP, sizeof(ifaddrmsg));
    addresses.body.address.ifa_family = family;
    addresses.Add(IFA_TARGET_NETNSID, static_cast<int32_t>(id));
    error = AskKernel(requests_, addresses, [&](const nlmsghdr& message) {
      if (message.nlmsg_type != RTM_NEWADDR || !HasBody<ifaddrmsg>(message)) return;
      const auto& body = BodyOf<ifaddrmsg>(message);
      const std::optional<IpAddr> ip = AddressOf(message);
      if (body.ifa_scope == RT_SCOPE_UNIVERSE && ip.has_value() && !ip->is_loopback()) {
        by_link[body.ifa_index].push_back(*ip);
      }
    });
    // A kernel without IPv6 has no addresses of it.
    if (error != 0 && !(family == AF_INET6 && error == EOPNOTSUPP)) {
      return RequestFailure(what, error);
    }
  }
  if (by_link.empty()) return absl::NotFoundError(what + ": none");
  uint32_t chosen = by_link.begin()->first;
  if (by_link.size() > 1) {
    NetlinkRequest links(RTM_GETLINK, NLM_F_DUMP, sizeof(ifinfomsg));
    links.Add(IFLA_TARGET_NETNSID, static_cast<int32_t>(id));
    error = AskKernel(requests_, links, [&](const nlmsghdr& message) {
      if (message.nlmsg_type != RTM_NEWLINK || !HasBody<ifinfomsg>(message)) return;
      const auto index = static_cast<uint32_t>(BodyOf<ifinfomsg>(message).ifi_index);
      ForEachAttribute(message, sizeof(ifinfomsg), [&](int type, const char* data, size_t size) {
        if (type == IFLA_IFNAME && std::string_view(data, strnlen(data, size)) == kPodLink &&
            by_link.contains(index)) {
          chosen = index;
        }
      });
    });
    if (error != 0) return RequestFailure(what, error);
  }
  return NamespaceLink{chosen, std::move(by_link[chosen])};
}

}  // namespace phantomd
