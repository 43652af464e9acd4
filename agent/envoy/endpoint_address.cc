#include "agent/envoy/endpoint_address.h"

namespace phantomd {

bool ReadInternalAddress(JsonWalk& walk, JsonWalk::Value value, EndpointAddress& out) {
  std::string_view id;
  const bool read =
      walk.Fields(value, "envoy_internal_address", [&](JsonKey key, JsonWalk::Value inner) {
        return !Named(key, "endpoint_id") || walk.Text(inner, "endpoint_id", id);
      });
  if (!read) return false;
  // Any text may be an endpoint ID; only Istio's form, ip:port, names a destination.
  if (auto address = SocketAddr::Parse(id); address.ok()) {
    out.address = *address;
    out.tunnelled = true;
  }
  return true;
}

bool ReadEndpointAddress(JsonWalk& walk, JsonWalk::Value value, EndpointAddress& out) {
  return walk.Fields(value, "address", [&](JsonKey kind, JsonWalk::Value form) {
    if (Named(kind, "envoy_internal_address")) return ReadInternalAddress(walk, form, out);
    if (!Named(kind, "socket_address")) return true;
    std::string_view host;
    uint64_t port = 0;
    const bool read = walk.Fields(form, "socket_address", [&](JsonKey key, JsonWalk::Value inner) {
      if (Named(key, "address")) return walk.Text(inner, "socket_address.address", host);
      if (Named(key, "port_value")) return walk.Number(inner, "port_value", port);
      return true;
    });
    if (!read) return false;
    if (port > 65535) return walk.Fail("port_value", simdjson::NUMBER_OUT_OF_RANGE);
    if (auto ip = IpAddr::Parse(host); ip.ok()) {
      out.address = SocketAddr{*ip, static_cast<uint16_t>(port)};
    }
    return true;
  });
}

}  // namespace phantomd
