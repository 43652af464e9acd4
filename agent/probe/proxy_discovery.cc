#include "agent/probe/proxy_discovery.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "agent/base/strings.h"
#include "agent/probe/cgroup_path.h"
#include "agent/probe/kernel_time.h"
#include "agent/probe/proxy_command.h"

namespace phantomd {
namespace {

// Where cgroup v2 is mounted, or empty.
std::string FindCgroup2() {
  std::ifstream mounts("/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string device, path, type;
    if (fields >> device >> path >> type && type == "cgroup2") return path;
  }
  return "";
}

std::string_view CommandOf(const process_record& record) {
  const std::string_view all(record.comm, sizeof(record.comm));
  return all.substr(0, all.find('\0'));
}

}  // namespace

ProxyDiscovery::ProxyDiscovery(const DiscoveryOptions& options, NamespaceReader& namespaces)
    : proc_(options.proc_root),
      spotter_(proc_),
      namespaces_(namespaces),
      cgroup2_root_(options.cgroup2_root.empty() ? FindCgroup2() : options.cgroup2_root) {}

// On a 64-bit kernel a cgroup's ID is the inode number of its directory.
uint64_t ProxyDiscovery::CgroupIdOf(std::string_view proc_cgroup) const {
  const std::string_view path = UnifiedCgroupPath(proc_cgroup);
  if (cgroup2_root_.empty() || path.empty() || path.substr(0, 3) == "/..") return 0;
  struct stat status {};
  const std::string directory = cgroup2_root_ + std::string(path);
  return stat(directory.c_str(), &status) == 0 ? status.st_ino : 0;
}

absl::StatusOr<ProxyDiscovery::Member> ProxyDiscovery::Inspect(uint32_t pid,
                                                               ProxyProcess::Kind kind) const {
  Member out;
  out.process.kind = kind;
  out.process.process_id = pid;
  const auto start = proc_.Start(pid);
  if (!start.ok()) return start.status();
  out.process.start = *start;
  const auto uid = proc_.FileSystemUid(pid);
  if (!uid.ok()) return uid.status();
  out.process.uid = *uid;
  const auto cookie = namespaces_.CookieOf(proc_.PathOf(pid, "ns/net"));
  if (!cookie.ok()) return cookie.status();
  out.process.netns_cookie = *cookie;
  const auto cgroups = proc_.Cgroups(pid);
  if (!cgroups.ok()) return cgroups.status();
  out.process.cgroup_id = CgroupIdOf(*cgroups);
  const CgroupOwner owner = OwnerOfCgroups(*cgroups);
  out.pod_uid = owner.pod_uid;
  out.container_id = owner.container_id;
  const auto command_line = proc_.CommandLine(pid);
  if (!command_line.ok()) return command_line.status();
  out.well_known = !command_line->empty();  // it is while the process is being set up
  EnvoyOptions options = ParseEnvoyOptions(*command_line);
  if (!options.config_path.empty()) out.bootstrap_path = proc_.PathFor(pid, options.config_path);
  out.bootstrap_inline = options.config_yaml;
  const std::string place =
      out.in_container()
          ? fmt::format("{}/{}", out.pod_uid.value(), out.container_id)
          : fmt::format("netns {} cgroup {} pod {}", *cookie,
                        std::string(UnifiedCgroupPath(*cgroups)), out.pod_uid.value());
  out.group = fmt::format("{} process {}/{}", place, start->nanos(), pid);
  if (kind != ProxyProcess::Kind::kEnvoy) return out;
  out.serves = options.serves;
  if (options.dynamic_base_id && !options.base_id_path.empty()) {
    // Written some time after its start.
    const auto chosen = proc_.NumberIn(proc_.PathFor(pid, options.base_id_path));
    out.well_known &= chosen.ok();
    options.dynamic_base_id = !chosen.ok();
    if (chosen.ok()) options.base_id = *chosen;
  }
  if (options.hot_restart && !options.dynamic_base_id) {
    out.group = fmt::format("{} base-id {}", place, options.base_id);
  }
  return out;
}

// A container's name is that of its proxy; a second one there needs a name of its own.
ProxyId ProxyDiscovery::NewIdFor(const Member& member) const {
  // The same whether the process was seen at its exec or found in /proc, which rounds: an agent
  // that follows on another one must find the proxies that it knew.
  const std::string own = fmt::format(
      "{}/{}", ProxyProcesses::Rounded(member.process.start).nanos(), member.process.process_id);
  if (!member.in_container()) return ProxyId(own);
  const ProxyId of_container(fmt::format("{}/{}", member.pod_uid.value(), member.container_id));
  const bool taken = std::any_of(group_ids_.begin(), group_ids_.end(),
                                 [&](const auto& group) { return group.second == of_container; });
  return taken ? ProxyId(fmt::format("{}/{}", of_container.value(), own)) : of_container;
}

ProxyDiscovery::Member ProxyDiscovery::FromRecord(const process_record& record,
                                                  ProxyProcess::Kind kind) {
  Member out;
  out.process.kind = kind;
  out.process.process_id = record.process_id;
  out.process.start = FromKernel(record.process_start_ns);
  out.process.netns_cookie = record.netns_cookie;
  out.process.cgroup_id = record.cgroup_id;
  out.process.uid = record.uid;
  out.group = fmt::format("{}/{}", record.process_start_ns, record.process_id);
  return out;
}

bool ProxyDiscovery::OnExec(const process_record& record) {
  const BootTime observed = FromKernel(record.observed_ns);
  const auto start = FromKernel(record.process_start_ns);
  const auto executable = proc_.Executable(record.process_id);
  const auto shown_start = proc_.Start(record.process_id);
  // /proc may already show a later process, or none: then the name that the kernel saw must do.
  const bool shown =
      executable.ok() && shown_start.ok() && ProxyProcesses::SameStart(*shown_start, start);
  const std::string_view name = shown ? FileNameOf(*executable) : CommandOf(record);
  std::optional<ProxyProcess::Kind> kind = KindOfExecutable(name);
  if (!kind.has_value() &&
      (shown ? spotter_.Knows(record.process_id, *executable) : spotter_.KnowsCommand(name))) {
    kind = ProxyProcess::Kind::kEnvoy;
  }
  absl::StatusOr<Member> member = absl::NotFoundError("");
  if (kind.has_value()) member = Inspect(record.process_id, *kind);
  if (!kind.has_value() || (member.ok() && !member->serves)) {
    if (const auto it = living_.find(record.process_id);
        it != living_.end() && ProxyProcesses::SameStart(it->second.process.start, start)) {
      Leave(record.process_id, observed);  // it was one before this exec
    }
    return false;
  }
  if (!member.ok() || !ProxyProcesses::SameStart(member->process.start, start)) {
    member = FromRecord(record, *kind);
  }
  // What the kernel saw at the exec is exact.
  member->process.start = start;
  member->process.netns_cookie = record.netns_cookie;
  member->process.cgroup_id = record.cgroup_id;
  Join(*std::move(member));
  return true;
}

void ProxyDiscovery::OnElsewhere(uint32_t process_id, BootTime start, uint64_t netns_cookie,
                                 BootTime now) {
  processes_.FoundIn(process_id, start, netns_cookie, now);
}

void ProxyDiscovery::OnExit(const process_record& record) {
  // The ID may belong to a later process by now.
  const auto living = living_.find(record.process_id);
  const auto start = FromKernel(record.process_start_ns);
  if (living == living_.end() || !ProxyProcesses::SameStart(start, living->second.process.start)) {
    return;
  }
  Leave(record.process_id, FromKernel(record.observed_ns));
}

void ProxyDiscovery::Scan(BootTime now) {
  limitations_.clear();
  size_t unreadable = 0;
  std::string first_unreadable;
  std::set<uint32_t> seen;
  std::set<uint32_t> unnamed;
  const auto pids = proc_.ProcessIds();
  if (!pids.ok()) {
    limitations_.push_back(
        fmt::format("processes could not be looked for: {}", FromAbsl(pids.status().message())));
    return;
  }
  for (const uint32_t pid : *pids) {
    const auto executable = proc_.Executable(pid);
    if (!executable.ok()) {
      // Kernel threads have none. A proxy that may not be looked at is worth a sentence of its own;
      // the kernel may have told of it all the same.
      if (absl::IsNotFound(executable.status())) continue;
      if (LivesOn(pid)) seen.insert(pid);
      const auto command = proc_.Command(pid);
      const std::string name = command.ok() ? *command : "?";
      if (CommandMayBeProxy(name)) {
        limitations_.push_back(
            fmt::format("process {} ({}) looks like a proxy but cannot be read", pid, name));
      } else if (++unreadable == 1) {
        first_unreadable = fmt::format("{} ({})", pid, name);
      }
      continue;
    }
    std::optional<ProxyProcess::Kind> kind = KindOfExecutable(FileNameOf(*executable));
    if (!kind.has_value()) {
      unnamed.insert(pid);
      const bool envoy =
          LivesOn(pid) ? spotter_.Knows(pid, *executable) : spotter_.IsEnvoy(pid, *executable);
      if (envoy) kind = ProxyProcess::Kind::kEnvoy;
    }
    if (!kind.has_value()) continue;
    absl::Status inspected;
    if (LivesOn(pid)) {
      seen.insert(pid);
      inspected = Reinspect(living_.at(pid));
    } else {
      absl::StatusOr<Member> member = Inspect(pid, *kind);
      inspected = member.status();
      if (member.ok() && member->serves) {
        seen.insert(pid);
        const auto command = proc_.Command(pid);
        if (command.ok() && !CommandMayBeProxy(*command)) new_commands_.push_back(*command);
        Join(*std::move(member));
      }
    }
    if (!inspected.ok() && !absl::IsNotFound(inspected)) {
      limitations_.push_back(fmt::format("process {} ({}) is a proxy but cannot be read: {}", pid,
                                         FileNameOf(*executable), FromAbsl(inspected.message())));
    }
  }
  if (unreadable > 0) {
    limitations_.push_back(
        fmt::format("{} processes cannot be read, the first is {}", unreadable, first_unreadable));
  }
  std::vector<uint32_t> ended;
  for (const auto& [pid, member] : living_) {
    if (!seen.contains(pid)) ended.push_back(pid);
  }
  for (const uint32_t pid : ended) Leave(pid, now);
  spotter_.KeepOnly(unnamed);
  processes_.Forget(now - kRemember);
  processes_.ForgetElsewhere(now - kServes);
}

bool ProxyDiscovery::LivesOn(uint32_t pid) const {
  const auto known = living_.find(pid);
  if (known == living_.end()) return false;
  const auto start = proc_.Start(pid);
  if (!start.ok()) return !absl::IsNotFound(start.status());
  return ProxyProcesses::SameStart(*start, known->second.process.start);
}

absl::Status ProxyDiscovery::Reinspect(const Member& known) {
  if (known.well_known) return absl::OkStatus();
  absl::StatusOr<Member> member = Inspect(known.process.process_id, known.process.kind);
  if (!member.ok()) return member.status();
  if (!ProxyProcesses::SameStart(member->process.start, known.process.start)) {
    return absl::NotFoundError("it has ended, and another process has its ID");
  }
  // What the kernel saw at the exec stays.
  member->process.start = known.process.start;
  member->process.netns_cookie = known.process.netns_cookie;
  if (known.process.cgroup_id != 0) member->process.cgroup_id = known.process.cgroup_id;
  Join(*std::move(member));
  return absl::OkStatus();
}

void ProxyDiscovery::Join(Member member) {
  const uint32_t pid = member.process.process_id;
  if (const auto known = living_.find(pid); known != living_.end()) {
    const bool same_process =
        ProxyProcesses::SameStart(known->second.process.start, member.process.start);
    if (same_process && known->second.group == member.group &&
        known->second.bootstrap_path == member.bootstrap_path &&
        known->second.bootstrap_inline == member.bootstrap_inline) {
      known->second.well_known |= member.well_known;
      return;
    }
    const bool better_known = same_process && !known->second.well_known && member.well_known;
    const bool of_another =
        known->second.group != member.group && group_ids_.contains(member.group);
    if (better_known && !of_another) {
      RenameGroup(known->second.group, member.group);
    } else {
      Leave(pid, member.process.start);
    }
  }
  if (member.process.kind != ProxyProcess::Kind::kAgent) {
    const auto known = group_ids_.find(member.group);
    const ProxyId id = known != group_ids_.end() ? known->second : NewIdFor(member);
    group_ids_.insert_or_assign(member.group, id);
    member.process.proxy_id = id;
  }
  processes_.Add(member.process);
  const std::string group = member.group;
  const bool is_proxy = member.process.kind != ProxyProcess::Kind::kAgent;
  living_.insert_or_assign(pid, std::move(member));
  if (is_proxy) Announce(group);
}

// The proxy keeps its ID: what is known by it already goes on.
void ProxyDiscovery::RenameGroup(const std::string& from, const std::string& to) {
  const auto rename = [&](auto& by_group) {
    if (auto node = by_group.extract(from)) {
      node.key() = to;
      by_group.insert(std::move(node));
    }
  };
  rename(group_ids_);
  rename(announced_);
}

void ProxyDiscovery::Leave(uint32_t pid, BootTime at) {
  const auto it = living_.find(pid);
  if (it == living_.end()) return;
  const Member member = std::move(it->second);
  living_.erase(it);
  processes_.End(pid, member.process.start, at);
  if (member.process.kind != ProxyProcess::Kind::kAgent) Announce(member.group);
}

// Says what the group is now, from its living processes.
void ProxyDiscovery::Announce(const std::string& group) {
  DiscoveredProxy out;
  const Member* oldest = nullptr;
  const Member* newest = nullptr;
  for (const auto& [pid, member] : living_) {
    if (member.group != group || member.process.kind == ProxyProcess::Kind::kAgent) continue;
    out.proxy.process_ids.push_back(pid);
    if (oldest == nullptr || member.process.start < oldest->process.start) oldest = &member;
    if (newest == nullptr || member.process.start >= newest->process.start) newest = &member;
  }
  if (oldest == nullptr) {
    const auto last = announced_.find(group);
    if (last != announced_.end()) {
      last->second.gone = true;
      changes_.push_back(std::move(last->second));
      announced_.erase(last);
    }
    group_ids_.erase(group);
    return;
  }
  out.proxy.id = group_ids_.at(group);
  out.proxy.pod.uid = newest->pod_uid;
  if (newest->process.kind == ProxyProcess::Kind::kZtunnel) {
    out.proxy.role = ProxyRole::kZtunnel;
  } else if (newest->pod_uid.empty()) {
    out.proxy.role = ProxyRole::kStandalone;
  }
  out.proxy.netns_cookie = newest->process.netns_cookie;
  out.proxy.cgroup_id = newest->process.cgroup_id;
  out.proxy.process_start = oldest->process.start;
  out.process_id = newest->process.process_id;
  out.bootstrap_path = newest->bootstrap_path;
  out.bootstrap_inline = newest->bootstrap_inline;
  changes_.push_back(out);
  announced_.insert_or_assign(group, std::move(out));
}

std::vector<std::string> ProxyDiscovery::TakeNewCommands() {
  return std::exchange(new_commands_, {});
}

std::vector<DiscoveredProxy> ProxyDiscovery::TakeChanges() { return std::exchange(changes_, {}); }

}  // namespace phantomd
