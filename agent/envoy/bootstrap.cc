#include "agent/envoy/bootstrap.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/base/strings.h"
#include "agent/envoy/json_walk.h"

namespace phantomd {
namespace {

constexpr size_t kMaxBootstrap = size_t{8} << 20;

// What a bootstrap says about its admin API, whichever syntax it is written in.
struct AdminFields {
  bool has_address = false;
  bool on_unix_socket = false;
  std::optional<std::string> host;
  std::optional<int64_t> port;
};

absl::StatusOr<AdminFields> ReadJson(std::string_view bootstrap) {
  AdminFields fields;
  auto status = JsonWalk::ReadDocument(
      "bootstrap", bootstrap, [&](JsonWalk& walk, JsonKey root, JsonWalk::Value admin) {
        if (!Named(root, "admin")) return true;
        return walk.Fields(admin, "admin", [&](JsonKey key, JsonWalk::Value address) {
          if (!Named(key, "address")) return true;
          fields.has_address = true;
          return walk.Fields(address, "admin.address", [&](JsonKey kind, JsonWalk::Value socket) {
            if (Named(kind, "pipe")) fields.on_unix_socket = true;
            if (!Named(kind, "socket_address")) return true;
            return walk.Fields(socket, "socket_address", [&](JsonKey name, JsonWalk::Value value) {
              if (Named(name, "address")) {
                return walk.Text(value, "socket_address.address", fields.host.emplace());
              }
              if (!Named(name, "port_value")) return true;
              uint64_t port = 0;
              if (!walk.Number(value, "port_value", port)) return false;
              fields.port = static_cast<int64_t>(std::min<uint64_t>(port, 1 << 20));
              return true;
            });
          });
        });
      });
  if (!status.ok()) return status;
  return fields;
}

// A child that is there in snake_case or camelCase; an undefined node if not.
YAML::Node Child(const YAML::Node& node, const char* snake, const char* camel) {
  if (!node.IsMap()) return YAML::Node(YAML::NodeType::Undefined);
  if (const YAML::Node child = node[snake]; child.IsDefined()) return child;
  return node[camel];
}

absl::StatusOr<AdminFields> ReadYaml(std::string_view bootstrap) {
  try {
    AdminFields fields;
    const YAML::Node root = YAML::Load(std::string(bootstrap));
    if (!root.IsMap()) return absl::InvalidArgumentError("bootstrap: it is no mapping");
    const YAML::Node admin = Child(root, "admin", "admin");
    if (!admin.IsDefined()) return fields;
    const YAML::Node address = Child(admin, "address", "address");
    fields.has_address = address.IsDefined() && !address.IsNull();
    if (!fields.has_address) return fields;
    fields.on_unix_socket = Child(address, "pipe", "pipe").IsDefined();
    const YAML::Node socket = Child(address, "socket_address", "socketAddress");
    if (!socket.IsDefined()) return fields;
    const YAML::Node host = Child(socket, "address", "address");
    const YAML::Node port = Child(socket, "port_value", "portValue");
    if (host.IsDefined()) fields.host = host.as<std::string>();
    if (port.IsDefined()) fields.port = port.as<int64_t>();
    return fields;
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(fmt::format("bootstrap: {}", error.what()));
  }
}

// JSON goes to the JSON parser, for not all of it is YAML (tabs, surrogate pairs); what opens with
// a brace may still be YAML in flow style.
absl::StatusOr<AdminFields> ReadFields(std::string_view bootstrap) {
  const size_t first = bootstrap.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && bootstrap[first] == '{') {
    if (auto fields = ReadJson(bootstrap); fields.ok()) return fields;
  }
  return ReadYaml(bootstrap);
}

int OpenBeneath(const std::string& directory, const std::string& path, uint64_t resolve) {
  const int at = open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (at < 0) return -1;
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = resolve | RESOLVE_NO_MAGICLINKS;
  const int fd = static_cast<int>(syscall(SYS_openat2, at, path.c_str(), &how, sizeof(how)));
  const int error = errno;
  close(at);
  errno = error;
  return fd;
}

absl::StatusOr<std::string> ReadRegularFile(int fd, const std::string& path, size_t max_bytes) {
  struct stat info {};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(fmt::format("{} is no regular file", path));
  }
  std::string bytes;
  char chunk[16384];
  for (;;) {
    const ssize_t count = read(fd, chunk, sizeof(chunk));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return absl::UnavailableError(fmt::format("{}: {}", path, std::strerror(errno)));
    }
    if (count == 0) return bytes;
    bytes.append(chunk, static_cast<size_t>(count));
    if (bytes.size() > max_bytes) {
      return absl::ResourceExhaustedError(
          fmt::format("{} is larger than {} bytes", path, max_bytes));
    }
  }
}

}  // namespace

absl::StatusOr<std::optional<SocketAddr>> AdminAddressOf(std::string_view bootstrap) {
  const auto fields = ReadFields(bootstrap);
  if (!fields.ok()) return fields.status();
  if (!fields->has_address) return std::nullopt;
  if (fields->on_unix_socket) {
    return absl::UnimplementedError("its admin API listens on a Unix socket, which is not polled");
  }
  if (!fields->host.has_value() || !fields->port.has_value()) {
    return absl::InvalidArgumentError("bootstrap: admin has no socket_address with a port_value");
  }
  const auto ip = IpAddr::Parse(*fields->host);
  if (!ip.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("bootstrap: admin address: {}", FromAbsl(ip.status().message())));
  }
  if (*fields->port < 0 || *fields->port > 65535) {
    return absl::InvalidArgumentError(
        fmt::format("bootstrap: there is no admin port {}", *fields->port));
  }
  if (*fields->port == 0) {
    return absl::UnimplementedError("its admin API listens on a port that the system chose");
  }
  SocketAddr out{*ip, static_cast<uint16_t>(*fields->port)};
  if (out.ip == IpAddr::V4(0, 0, 0, 0)) out.ip = IpAddr::V4(127, 0, 0, 1);
  if (out.ip.is_unset()) out.ip = *IpAddr::Parse("::1");
  return out;
}

absl::StatusOr<std::string> ReadFileOfProcess(pid_t pid, const std::string& path,
                                              size_t max_bytes) {
  const bool absolute = !path.empty() && path.front() == '/';
  const int fd = absolute ? OpenBeneath(fmt::format("/proc/{}/root", pid), path, RESOLVE_IN_ROOT)
                          : OpenBeneath(fmt::format("/proc/{}/cwd", pid), path, RESOLVE_BENEATH);
  if (fd < 0) {
    return absl::NotFoundError(
        fmt::format("{} of process {}: {}", path, pid, std::strerror(errno)));
  }
  auto bytes = ReadRegularFile(fd, path, max_bytes);
  close(fd);
  return bytes;
}

absl::StatusOr<std::vector<SocketAddr>> AdminCandidates(pid_t pid, const std::string& path,
                                                        const std::string& inline_text,
                                                        const std::vector<uint16_t>& usual_ports) {
  bool read_whole = true;
  const auto consider = [&](std::string_view text, std::optional<SocketAddr>& found) {
    auto address = AdminAddressOf(text);
    if (address.ok()) {
      found = *address;
    } else if (address.status().code() == absl::StatusCode::kUnimplemented) {
      return address.status();
    } else {
      read_whole = false;
    }
    return absl::OkStatus();
  };
  std::optional<SocketAddr> found;
  if (!inline_text.empty()) {
    if (auto status = consider(inline_text, found); !status.ok()) return status;
  }
  if (!found.has_value() && !path.empty()) {
    if (const auto bytes = ReadFileOfProcess(pid, path, kMaxBootstrap); !bytes.ok()) {
      read_whole = false;
    } else if (auto status = consider(*bytes, found); !status.ok()) {
      return status;
    }
  }
  if (found.has_value()) return std::vector<SocketAddr>{*found};
  if (read_whole && !(path.empty() && inline_text.empty())) {
    return absl::UnimplementedError("its bootstrap configures no admin API");
  }
  std::vector<SocketAddr> candidates;
  for (const uint16_t port : usual_ports) {
    candidates.push_back({IpAddr::V4(127, 0, 0, 1), port});
    candidates.push_back({*IpAddr::Parse("::1"), port});
  }
  return candidates;
}

}  // namespace phantomd
