// SampleValues: a different value at each call, for samples in which every field can be told apart.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"
#include "agent/base/nouns.h"

namespace phantomd::testing {

// Hands out a different value at each call, so that two fields that are swapped never compare
// equal.
class SampleValues {
 public:
  int64_t Number() { return ++last_; }
  std::string Text(std::string_view stem) { return std::string(stem) + std::to_string(Number()); }
  BootTime Boot() { return BootTime::FromNanos(1'000'000'000'000 + Number()); }
  WallTime Wall() { return WallTime::FromNanos(1'700'000'000'000'000'000 + Number()); }
  Nanos Delay() { return Nanos(7'000'000'000 + Number()); }
  IpAddr Ip() { return IpAddr::V4(10, 1, 2, static_cast<uint8_t>(Number())); }
  SocketAddr Socket() { return {Ip(), static_cast<uint16_t>(40'000 + Number())}; }
  uint32_t U32() { return static_cast<uint32_t>(3'000'000'000 + Number()); }
  uint64_t U64() { return (uint64_t{1} << 63) + static_cast<uint64_t>(Number()); }
  ProxyId Id() { return ProxyId(Text("proxy-")); }

 private:
  int64_t last_ = 0;
};

inline PodRef SamplePod(SampleValues& v) {
  return {.uid = PodUid(v.Text("uid-")),
          .ns = v.Text("ns-"),
          .name = v.Text("pod-"),
          .workload = {v.Text("ns-"), v.Text("Kind"), v.Text("workload-")},
          .revision = v.Text("revision-"),
          .node_name = v.Text("node-")};
}

}  // namespace phantomd::testing
