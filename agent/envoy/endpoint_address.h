// ReadEndpointAddress reads the `address` of an endpoint, in all the forms Envoy writes it.
//
// - socket_address {address, port_value}: the address Envoy connects to.
// - envoy_internal_address {endpoint_id "10.0.0.1:8080"}: an HBONE tunnel. Envoy's own internal
//   listener opens the real connection to 10.0.0.1:15008, and that is what the kernel sees.
// - pipe {path}, or a name that is not resolved yet: no address that a pod could hold.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/base/ip_addr.h"
#include "agent/envoy/json_walk.h"

namespace phantomd {

// Where an HBONE tunnel is opened, whatever port the application meant.
inline constexpr uint16_t kHbonePort = 15008;

struct EndpointAddress {
  std::optional<SocketAddr> address;  // none: a pipe, a name
  bool tunnelled = false;             // reached at {address.ip, kHbonePort}
};

bool ReadEndpointAddress(JsonWalk& walk, JsonWalk::Value value, EndpointAddress& out);

// The value of `envoy_internal_address`, which one streamed form of /clusters writes beside
// `address` rather than inside it.
bool ReadInternalAddress(JsonWalk& walk, JsonWalk::Value value, EndpointAddress& out);

}  // namespace phantomd
