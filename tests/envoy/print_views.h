// The decoded views as text: one line for each thing, so that two views can be compared whole and a
// difference can be read.
#pragma once

#include <string>

#include "agent/envoy/config_dump.h"
#include "agent/envoy/host_sets.h"
#include "agent/envoy/server_info.h"

namespace phantomd {

std::string Print(const ServerInfo& info);
std::string Print(const HostSets& sets);
std::string Print(const ConfigDump& dump);

}  // namespace phantomd
