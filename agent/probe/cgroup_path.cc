#include "agent/probe/cgroup_path.h"

#include <algorithm>
#include <cctype>

namespace phantomd {
namespace {

constexpr size_t kUidLength = 36;        // 8-4-4-4-12
constexpr size_t kStaticUidLength = 32;  // a static pod's UID is a hash of its configuration

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; });
}

// The UID at the start of `text`, or empty.
std::string UidAt(std::string_view text) {
  std::string uid(text.substr(0, kUidLength));
  bool dashed = uid.size() == kUidLength;
  for (size_t i = 0; dashed && i < uid.size(); ++i) {
    const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (is_dash && (uid[i] == '-' || uid[i] == '_')) {
      uid[i] = '-';
    } else if (is_dash || !std::isxdigit(static_cast<unsigned char>(uid[i]))) {
      dashed = false;
    }
  }
  if (dashed) return uid;
  const std::string_view hash = text.substr(0, kStaticUidLength);
  if (hash.size() == kStaticUidLength && IsHex(hash)) return std::string(hash);
  return "";
}

// "cri-containerd-4f5e....scope", "crio-4f5e...", ":cri-containerd:4f5e...", "4f5e...".
std::string ContainerIdOf(std::string_view component) {
  constexpr std::string_view kScope = ".scope";
  if (component.size() > kScope.size() &&
      component.substr(component.size() - kScope.size()) == kScope) {
    component.remove_suffix(kScope.size());
  }
  const size_t prefix = component.find_last_of("-:");
  if (prefix != std::string_view::npos) component.remove_prefix(prefix + 1);
  if (component.size() < 12 || !IsHex(component)) return "";
  return std::string(component);
}

// "kubepods-burstable-pod<uid>": the last "pod" is the one before the UID.
PodUid PodOf(std::string_view component) {
  constexpr std::string_view kPod = "pod";
  PodUid out;
  for (size_t at = component.find(kPod); at != std::string_view::npos;
       at = component.find(kPod, at + 1)) {
    std::string uid = UidAt(component.substr(at + kPod.size()));
    if (!uid.empty()) out = PodUid(std::move(uid));
  }
  return out;
}

// Takes the first component off the path.
std::string_view TakeComponent(std::string_view& path) {
  const size_t slash = path.find('/');
  const std::string_view component = path.substr(0, slash);
  path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  return component;
}

}  // namespace

CgroupOwner OwnerOfCgroupPath(std::string_view path) {
  CgroupOwner out;
  while (!path.empty()) {
    const std::string_view component = TakeComponent(path);
    if (out.pod_uid.empty()) {
      out.pod_uid = PodOf(component);
      // Where the slice, the driver and the container share one component.
      const size_t colon = component.rfind(':');
      if (!out.pod_uid.empty() && colon != std::string_view::npos) {
        out.container_id = ContainerIdOf(component);
      }
    } else if (out.container_id.empty()) {
      out.container_id = ContainerIdOf(component);
    }
  }
  return out;
}

namespace {

// Calls `body(controllers, path)` for each line until it returns true.
template <typename Body>
void ForEachLine(std::string_view text, Body body) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    if (body(line.substr(first + 1, second - first - 1), line.substr(second + 1))) return;
  }
}

}  // namespace

CgroupOwner OwnerOfCgroups(std::string_view proc_cgroup) {
  CgroupOwner out;
  ForEachLine(proc_cgroup, [&](std::string_view, std::string_view path) {
    out = OwnerOfCgroupPath(path);
    return !out.pod_uid.empty();
  });
  return out.pod_uid.empty() ? CgroupOwner() : out;
}

std::optional<PodCgroup> PodCgroupOfPath(std::string_view path) {
  PodCgroup out;
  while (!path.empty() && out.pod_uid.empty()) {
    const std::string_view component = TakeComponent(path);
    out.pod_uid = PodOf(component);
    // Where the slice, the driver and the container share one component.
    const bool shared = component.find(':') != std::string_view::npos;
    if (!out.pod_uid.empty() && shared) out.member = component;
  }
  if (out.pod_uid.empty()) return std::nullopt;
  if (out.member.empty()) out.member = TakeComponent(path);
  if (out.member.find("conmon") != std::string::npos) return std::nullopt;
  out.inside = !path.empty();
  return out;
}

std::optional<PodCgroup> PodCgroupOfProcess(std::string_view proc_cgroup) {
  std::optional<PodCgroup> out;
  ForEachLine(proc_cgroup, [&](std::string_view, std::string_view path) {
    out = PodCgroupOfPath(path);
    return out.has_value();
  });
  return out;
}

std::string_view UnifiedCgroupPath(std::string_view proc_cgroup) {
  std::string_view out;
  ForEachLine(proc_cgroup, [&](std::string_view controllers, std::string_view path) {
    if (controllers.empty()) out = path;
    return controllers.empty();
  });
  return out;
}

}  // namespace phantomd
