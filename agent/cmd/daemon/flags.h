// The flags of phantomd, read and checked.
//
// Pure but for the host's name, which is the default of --node_name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/engine/input.h"

namespace phantomd {

struct Flags {
  std::vector<std::string> feed_files;  // of --feed=file:PATH
  bool feed_kubernetes = false;         // --feed=kubernetes; neither: --feed=none
  std::string kubeconfig;               // empty: the service account of the agent's pod
  std::string kube_context;             // of the kubeconfig; empty: its current one
  Nanos feed_probe_interval = std::chrono::seconds(1);
  std::string node_name;
  std::vector<std::string> listen = {"unix:/run/phantomd/phantomd.sock"};
  std::string tls_cert, tls_key, tls_client_ca;
  std::string metrics_listen = ":9479";  // empty: none
  std::vector<uint16_t> admin_ports = {15000, 9901, 19000};
  Settings settings;
  std::string record;      // empty: no recording
  std::string state_dir;   // empty: nothing is left to the next agent
  std::string pin_dir;     // empty: nothing stays in the kernel
  bool uninstall = false;  // remove what stays in pin_dir, and leave
  std::string log_level = "info";
};

// Nothing to do but to leave: --help, --version (`text` on standard output, code 0) or a wrong flag
// (`text` on standard error, code 2).
struct Leave {
  int code = 0;
  std::string text;
};

std::variant<Flags, Leave> ParseFlags(int argc, const char* const* argv);

// "3s", "500ms", "2m", "6h", "1h30m"; only "0" needs no unit.
absl::StatusOr<Nanos> ParseDuration(std::string_view text);

}  // namespace phantomd
