// The values that several messages share <-> their messages: addresses, pods, workloads, proxies.
//
// Pure functions. Decoders report what is wrong to a FieldPath and go on.
#pragma once

#include <string>
#include <string_view>

#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"
#include "agent/base/nouns.h"
#include "agent/wire/field_path.h"
#include "phantom/v1/types.pb.h"

namespace phantomd {

inline BootTime Boot(int64_t nanos) { return BootTime::FromNanos(nanos); }
inline WallTime Wall(int64_t nanos) { return WallTime::FromNanos(nanos); }

// Text for a proto3 string: `text` itself, with U+FFFD for every byte that is not part of UTF-8.
std::string WireText(std::string_view text);

// 16 bytes; none when the address is unset.
std::string WireAddress(const IpAddr& ip);

void Encode(const WorkloadRef& workload, phantom::v1::WorkloadRef* out);
void Encode(const PodRef& pod, phantom::v1::PodRef* out);
void Encode(const Proxy& proxy, phantom::v1::Proxy* out);

WorkloadRef Decode(const phantom::v1::WorkloadRef& message);
PodRef Decode(const phantom::v1::PodRef& message);
Proxy Decode(const phantom::v1::Proxy& message, const FieldPath& path);

}  // namespace phantomd
