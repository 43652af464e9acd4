#include "agent/base/server_address.h"

#include <fmt/format.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>

#include "agent/base/ip_addr.h"

namespace phantomd {
namespace {

constexpr std::string_view kUnix = "unix:";
constexpr size_t kLongestPath = sizeof(sockaddr_un::sun_path) - 1;

absl::Status Wrong(std::string_view text, std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{:?}: {}", text, what));
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

// "fd00::7", also with the interface that a link-local address needs: "fe80::1%eth0".
bool IsIpv6(std::string_view text) {
  return text.find(':') != std::string_view::npos &&
         IpAddr::Parse(text.substr(0, text.find('%'))).ok();
}

}  // namespace

std::string HostPort::ToString() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port)
                                             : fmt::format("[{}]:{}", host, port);
}

absl::StatusOr<HostPort> ParseHostPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return Wrong(text, "not of the form HOST:PORT");
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    if (!IsIpv6(host)) return Wrong(text, "what stands in brackets is no IPv6 address");
  } else if (host.find(':') != std::string_view::npos) {
    return Wrong(text, "an IPv6 address stands in brackets, as in [::1]:9478");
  } else if (!std::all_of(host.begin(), host.end(), IsNameCharacter)) {
    return Wrong(text, "not of the form HOST:PORT");
  }
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Wrong(text, "a port is a number from 0 to 65535");
  }
  return HostPort{std::string(host), port};
}

absl::StatusOr<ServerAddress> ParseServerAddress(std::string_view text) {
  if (text.starts_with(kUnix)) {
    const std::string_view path = text.substr(kUnix.size());
    if (path.empty() || path.size() > kLongestPath) {
      return Wrong(text, fmt::format("a socket's path has 1 to {} bytes", kLongestPath));
    }
    return ServerAddress{.unix_path = std::string(path), .tcp = {}};
  }
  absl::StatusOr<HostPort> tcp = ParseHostPort(text);
  if (!tcp.ok()) return tcp.status();
  if (tcp->host.empty()) return Wrong(text, "the host is missing: unix:PATH or HOST:PORT");
  return ServerAddress{.unix_path = {}, .tcp = *std::move(tcp)};
}

}  // namespace phantomd
