#include "agent/probe/proxy_process.h"

#include <utility>

namespace phantomd {

bool ProxyProcesses::SameStart(BootTime a, BootTime b) {
  const auto rounds_to = [](BootTime exact, BootTime rounded) {
    return rounded.nanos() % kStartGrain.count() == 0 && exact >= rounded &&
           exact - rounded < kStartGrain;
  };
  return a == b || rounds_to(a, b) || rounds_to(b, a);
}

ProxyProcesses::Entry* ProxyProcesses::FindEntry(uint32_t process_id, BootTime start) {
  const auto [begin, end] = by_pid_.equal_range(process_id);
  for (auto it = begin; it != end; ++it) {
    if (SameStart(it->second.process.start, start)) return &it->second;
  }
  return nullptr;
}

void ProxyProcesses::Add(const ProxyProcess& process) {
  if (Entry* entry = FindEntry(process.process_id, process.start)) {
    std::map<uint64_t, BootTime> elsewhere = std::move(entry->process.elsewhere);
    entry->process = process;
    entry->ended = BootTime();  // it was taken for ended when it left another group
    entry->process.elsewhere.merge(elsewhere);
    entry->process.elsewhere.erase(process.netns_cookie);
    return;
  }
  by_pid_.emplace(process.process_id, Entry{process, BootTime()});
}

void ProxyProcesses::End(uint32_t process_id, BootTime start, BootTime at) {
  Entry* entry = FindEntry(process_id, start);
  if (entry != nullptr && !entry->ended.is_set()) entry->ended = at;
}

void ProxyProcesses::FoundIn(uint32_t process_id, BootTime start, uint64_t netns_cookie,
                             BootTime at) {
  Entry* entry = FindEntry(process_id, start);
  if (entry == nullptr || entry->process.netns_cookie == netns_cookie) return;
  entry->process.elsewhere.insert_or_assign(netns_cookie, at);
}

void ProxyProcesses::ForgetElsewhere(BootTime found_before) {
  for (auto& [pid, entry] : by_pid_) {
    std::erase_if(entry.process.elsewhere,
                  [&](const auto& netns) { return netns.second < found_before; });
  }
}

void ProxyProcesses::Forget(BootTime ended_before) {
  std::erase_if(by_pid_, [&](const auto& item) {
    return item.second.ended.is_set() && item.second.ended < ended_before;
  });
}

const ProxyProcess* ProxyProcesses::Find(uint32_t process_id, BootTime start) const {
  const auto [begin, end] = by_pid_.equal_range(process_id);
  for (auto it = begin; it != end; ++it) {
    if (SameStart(it->second.process.start, start)) return &it->second.process;
  }
  return nullptr;
}

std::vector<const ProxyProcess*> ProxyProcesses::InNamespace(uint64_t netns_cookie) const {
  std::vector<const ProxyProcess*> out;
  for (const auto& [pid, entry] : by_pid_) {
    if (entry.process.netns_cookie == netns_cookie ||
        entry.process.elsewhere.contains(netns_cookie)) {
      out.push_back(&entry.process);
    }
  }
  return out;
}

std::vector<const ProxyProcess*> ProxyProcesses::Living() const {
  std::vector<const ProxyProcess*> out;
  for (const auto& [pid, entry] : by_pid_) {
    if (!entry.ended.is_set()) out.push_back(&entry.process);
  }
  return out;
}

}  // namespace phantomd
