// What a proxy's executable and command line tell about it.
//
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/probe/proxy_process.h"

namespace phantomd {

// By the executable's file name: "envoy" and variants ("envoy-1.30", "envoy-contrib"), "ztunnel",
// "pilot-agent". Programs that are named after Envoy but are not ("envoy-gateway") are none.
std::optional<ProxyProcess::Kind> KindOfExecutable(std::string_view file_name);

// True for a process name (at most 15 bytes) under which such an executable runs.
bool CommandMayBeProxy(std::string_view command);

std::string_view FileNameOf(std::string_view path);

// Envoy's options, in every form that it accepts: `-c PATH`, `--config-path PATH`,
// `--config-path=PATH`; the base ID comes from --base-id, --use-dynamic-base-id, --base-id-path.
struct EnvoyOptions {
  std::string config_path;  // as given: may be relative to the process's working directory
  std::string config_yaml;  // the configuration itself
  uint32_t base_id = 0;     // processes with one base ID restart one another
  bool dynamic_base_id =
      false;  // chosen at its start and written to base_id_path, if that is given
  std::string base_id_path;
  bool hot_restart = true;
  bool serves = true;  // else it only checks its configuration, or prints something

  friend bool operator==(const EnvoyOptions&, const EnvoyOptions&) = default;
};
EnvoyOptions ParseEnvoyOptions(const std::vector<std::string>& command_line);

}  // namespace phantomd
