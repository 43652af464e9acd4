#include "agent/wire/noun_wire.h"

#include <cstddef>

namespace phantomd {
namespace {

// How many bytes of `text` from `at` form one UTF-8 character (RFC 3629: no overlong forms, no
// surrogates, at most U+10FFFF); 0: none.
size_t CharacterLength(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) {
    return at + i < text.size() ? static_cast<uint8_t>(text[at + i]) : uint8_t{0};
  };
  const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (first == 0xE0 && byte(1) < 0xA0) return 0;
    if (first == 0xED && byte(1) > 0x9F) return 0;
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) > 0x8F) return 0;
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string WireText(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    if (const size_t length = CharacterLength(text, at); length > 0) {
      out.append(text, at, length);
      at += length;
    } else {
      out += "\xEF\xBF\xBD";
      ++at;
    }
  }
  return out;
}

std::string WireAddress(const IpAddr& ip) {
  return ip.is_unset() ? std::string() : std::string(ip.AsBytes());
}

void Encode(const WorkloadRef& workload, phantom::v1::WorkloadRef* out) {
  out->set_namespace_(WireText(workload.ns));
  out->set_kind(WireText(workload.kind));
  out->set_name(WireText(workload.name));
}

WorkloadRef Decode(const phantom::v1::WorkloadRef& message) {
  return {.ns = message.namespace_(), .kind = message.kind(), .name = message.name()};
}

void Encode(const PodRef& pod, phantom::v1::PodRef* out) {
  out->set_uid(WireText(pod.uid.value()));
  out->set_namespace_(WireText(pod.ns));
  out->set_name(WireText(pod.name));
  if (pod.workload != WorkloadRef{}) Encode(pod.workload, out->mutable_workload());
  out->set_revision(WireText(pod.revision));
  out->set_node_name(WireText(pod.node_name));
}

PodRef Decode(const phantom::v1::PodRef& message) {
  return {.uid = PodUid(message.uid()),
          .ns = message.namespace_(),
          .name = message.name(),
          .workload = Decode(message.workload()),
          .revision = message.revision(),
          .node_name = message.node_name()};
}

void Encode(const Proxy& proxy, phantom::v1::Proxy* out) {
  out->set_id(WireText(proxy.id.value()));
  out->set_name(WireText(proxy.name));
  out->set_role(static_cast<phantom::v1::Proxy::Role>(proxy.role));
  if (proxy.pod != PodRef{}) Encode(proxy.pod, out->mutable_pod());
  out->set_envoy_node_id(WireText(proxy.envoy_node_id));
  out->set_envoy_version(WireText(proxy.envoy_version));
  out->set_netns_cookie(proxy.netns_cookie);
  for (const uint32_t pid : proxy.process_ids) out->add_process_ids(pid);
  out->set_admin_address(WireText(proxy.admin_address));
  out->set_cgroup_id(proxy.cgroup_id);
  out->set_process_start_ns(proxy.process_start.nanos());
}

Proxy Decode(const phantom::v1::Proxy& message, const FieldPath& path) {
  Proxy out;
  out.id = ProxyId(message.id());
  out.name = message.name();
  out.role = path.Enum<ProxyRole>("role", message.role(), phantom::v1::Proxy::Role_IsValid);
  out.pod = Decode(message.pod());
  out.envoy_node_id = message.envoy_node_id();
  out.envoy_version = message.envoy_version();
  out.netns_cookie = message.netns_cookie();
  out.process_ids.assign(message.process_ids().begin(), message.process_ids().end());
  out.admin_address = message.admin_address();
  out.cgroup_id = message.cgroup_id();
  out.process_start = BootTime::FromNanos(message.process_start_ns());
  return out;
}

}  // namespace phantomd
