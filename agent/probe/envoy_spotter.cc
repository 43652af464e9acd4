#include "agent/probe/envoy_spotter.h"

#include <algorithm>

#include "agent/probe/proxy_command.h"

namespace phantomd {
namespace {

bool IsThreadOfEnvoy(std::string_view name) {
  return name.starts_with("wrk:worker_") || name == "dog:main_thread";
}

}  // namespace

bool EnvoySpotter::IsEnvoy(uint32_t pid, const std::string& executable) {
  Seen& seen = no_envoys_[pid];
  if (seen.executable != executable) seen = Seen{.executable = executable};
  if (seen.looks == kLooks) return false;
  ++seen.looks;
  if (Knows(pid, executable)) {
    no_envoys_.erase(pid);
    return true;
  }
  for (const std::string& thread : proc_.ThreadNames(pid)) {
    if (!IsThreadOfEnvoy(thread)) continue;
    const auto size = proc_.ExecutableSize(pid);
    if (size.ok()) known_.emplace(FileNameOf(executable), *size);
    no_envoys_.erase(pid);
    return true;
  }
  return false;
}

bool EnvoySpotter::Knows(uint32_t pid, std::string_view executable) const {
  if (known_.empty()) return false;
  const auto size = proc_.ExecutableSize(pid);
  return size.ok() && known_.contains(File(FileNameOf(executable), *size));
}

bool EnvoySpotter::KnowsCommand(std::string_view command) const {
  constexpr size_t kCommandLength = 15;
  return std::any_of(known_.begin(), known_.end(), [&](const File& file) {
    return std::string_view(file.first).substr(0, kCommandLength) == command;
  });
}

void EnvoySpotter::KeepOnly(const std::set<uint32_t>& pids) {
  std::erase_if(no_envoys_, [&](const auto& seen) { return !pids.contains(seen.first); });
}

}  // namespace phantomd
