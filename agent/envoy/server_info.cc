#include "agent/envoy/server_info.h"

#include <charconv>
#include <cmath>

#include "agent/envoy/json_walk.h"

namespace phantomd {
namespace {

// "9e55809.../1.40.0/Clean/RELEASE/BoringSSL": revision, version, tree, build, TLS library.
std::string VersionOf(std::string_view text) {
  const size_t first = text.find('/');
  if (first == std::string_view::npos) return std::string(text);
  const size_t second = text.find('/', first + 1);
  if (second == std::string_view::npos) return std::string(text);
  return std::string(text.substr(first + 1, second - first - 1));
}

bool ParseState(std::string_view text, ServerState& state) {
  if (text == "LIVE" || text.empty()) {
    state = ServerState::kLive;
  } else if (text == "DRAINING") {
    state = ServerState::kDraining;
  } else if (text == "PRE_INITIALIZING") {
    state = ServerState::kPreInitializing;
  } else if (text == "INITIALIZING") {
    state = ServerState::kInitializing;
  } else {
    return false;
  }
  return true;
}

// A proto duration: "3s", "0.500s".
bool ParseDuration(std::string_view text, Nanos& out) {
  constexpr double kLongest = 1e9;  // seconds: 31 years, far inside what Nanos can hold
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end + 1 != text.data() + text.size() || *end != 's') return false;
  if (!(seconds >= 0 && seconds <= kLongest)) return false;
  out = Nanos(std::llround(seconds * 1e9));
  return true;
}

}  // namespace

absl::StatusOr<ServerInfo> DecodeServerInfo(std::string_view bytes) {
  ServerInfo info;
  auto status = JsonWalk::ReadDocument(
      "/server_info", bytes, [&](JsonWalk& walk, JsonKey key, JsonWalk::Value value) {
        std::string_view text;
        if (Named(key, "version")) {
          if (!walk.Text(value, "version", text)) return false;
          info.version = VersionOf(text);
        } else if (Named(key, "state")) {
          if (!walk.Text(value, "state", text)) return false;
          if (!ParseState(text, info.state)) return walk.Fail("state", simdjson::INCORRECT_TYPE);
        } else if (Named(key, "uptime_current_epoch")) {
          if (!walk.Text(value, "uptime_current_epoch", text)) return false;
          if (!ParseDuration(text, info.uptime)) {
            return walk.Fail("uptime_current_epoch", simdjson::NUMBER_ERROR);
          }
        } else if (Named(key, "node")) {
          return walk.Fields(value, "node", [&](JsonKey name, JsonWalk::Value inner) {
            return !Named(name, "id") || walk.Text(inner, "node.id", info.node_id);
          });
        }
        return true;
      });
  if (!status.ok()) return status;
  if (info.version.empty()) {
    return absl::InvalidArgumentError("/server_info: no version in it, so not Envoy's answer");
  }
  return info;
}

}  // namespace phantomd
