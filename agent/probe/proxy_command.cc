#include "agent/probe/proxy_command.h"

#include <algorithm>
#include <charconv>

namespace phantomd {
namespace {

constexpr std::string_view kEnvoy = "envoy";
constexpr std::string_view kZtunnel = "ztunnel";
constexpr std::string_view kPilotAgent = "pilot-agent";

// Control planes and helpers that run beside Envoy.
constexpr std::string_view kNotEnvoy[] = {"envoy-gateway", "envoy-ratelimit", "envoy-xds",
                                          "envoy-control", "envoy-operator"};

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

}  // namespace

std::optional<ProxyProcess::Kind> KindOfExecutable(std::string_view name) {
  if (name == kZtunnel) return ProxyProcess::Kind::kZtunnel;
  if (name == kPilotAgent) return ProxyProcess::Kind::kAgent;
  if (!StartsWith(name, kEnvoy)) return std::nullopt;
  for (std::string_view other : kNotEnvoy) {
    if (StartsWith(name, other)) return std::nullopt;
  }
  return ProxyProcess::Kind::kEnvoy;
}

bool CommandMayBeProxy(std::string_view command) {
  return StartsWith(command, kEnvoy) || command == kZtunnel || command == kPilotAgent;
}

std::string_view FileNameOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

EnvoyOptions ParseEnvoyOptions(const std::vector<std::string>& command_line) {
  EnvoyOptions out;
  for (size_t i = 1; i < command_line.size(); ++i) {
    std::string_view name = command_line[i];
    std::string_view value;
    const size_t equals = StartsWith(name, "--") ? name.find('=') : std::string_view::npos;
    if (equals != std::string_view::npos) {
      value = name.substr(equals + 1);
      name = name.substr(0, equals);
    } else if (i + 1 < command_line.size()) {
      value = command_line[i + 1];
    }
    if (name == "-c" || name == "--config-path") {
      out.config_path = value;
    } else if (name == "--config-yaml") {
      out.config_yaml = value;
    } else if (name == "--base-id") {
      std::from_chars(value.data(), value.data() + value.size(), out.base_id);
    } else if (name == "--base-id-path") {
      out.base_id_path = value;
    } else if (name == "--mode") {
      out.serves = value == "serve";
    } else if (name == "--use-dynamic-base-id") {
      out.dynamic_base_id = true;
      continue;
    } else if (name == "--disable-hot-restart") {
      out.hot_restart = false;
      continue;
    } else if (name == "--version" || name == "--hot-restart-version" || name == "--help" ||
               name == "-h") {
      out.serves = false;
      continue;
    } else {
      continue;
    }
    if (equals == std::string_view::npos) ++i;  // the value is not an option
  }
  return out;
}

}  // namespace phantomd
