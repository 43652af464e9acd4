// libFuzzer's entry to every decoder of admin answers and bootstraps: whatever the bytes, no crash,
// and what is accepted keeps the decoders' own promises.
//
// Built as a fuzzer by clang with -DPHANTOMD_FUZZ=ON; replayed over tests/data/envoy in the unit
// layer.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/base/check.h"
#include "agent/envoy/bootstrap.h"
#include "agent/envoy/config_dump.h"
#include "agent/envoy/host_sets.h"
#include "agent/envoy/server_info.h"
#include "agent/envoy/update_times.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phantomd;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto info = DecodeServerInfo(bytes); info.ok()) {
    PHANTOMD_CHECK(!info->version.empty());
  }
  if (const auto sets = DecodeHostSets(bytes); sets.ok()) {
    for (const auto& cluster : sets->clusters) PHANTOMD_CHECK(!cluster.name.empty());
  }
  if (const auto dump = DecodeConfigDump(bytes); dump.ok()) {
    for (const auto& cluster : dump->clusters) PHANTOMD_CHECK(!cluster.name.empty());
    for (const auto& assignment : dump->assignments) {
      PHANTOMD_CHECK(!assignment.cluster_name.empty());
    }
    const StatNames names = UpdateTimeStatNames(dump->clusters);
    PHANTOMD_CHECK(names.size() <= dump->clusters.size());
  }
  ClusterConfig cluster;
  cluster.name = "a";
  if (const auto times = DecodeUpdateTimes(bytes, UpdateTimeStatNames({cluster})); times.ok()) {
    for (const auto& [name, time] : *times) PHANTOMD_CHECK(name == "a" && time.nanos() >= 0);
  }
  if (const auto admin = AdminAddressOf(bytes); admin.ok() && admin->has_value()) {
    PHANTOMD_CHECK((*admin)->port != 0);
  }
  return 0;
}
