#include "agent/probe/attempt_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/probe/kernel_time.h"
#include "agent/probe/proxy_process.h"

namespace phantomd {
namespace {

uint64_t RecordsOf(const attempt_totals& totals) { return totals.attempts - totals.lost; }

}  // namespace

AttemptCheck::Processes::iterator AttemptCheck::Find(uint32_t process_id, BootTime start) {
  auto it = processes_.lower_bound({process_id, BootTime::Min()});
  while (it != processes_.end() && it->first.first == process_id) {
    if (ProxyProcesses::SameStart(it->first.second, start)) return it;
    ++it;
  }
  return processes_.end();
}

void AttemptCheck::Read(const connect_record& record) {
  if (record.process_id == 0) return;  // adopted: the kernel counts it for nobody
  const BootTime start = FromKernel(record.process_start_ns);
  auto process = Find(record.process_id, start);
  if (process == processes_.end()) {
    process = processes_.emplace(Identity{record.process_id, start}, Process()).first;
  }
  ++process->second.read;
}

void AttemptCheck::AfterScan(const std::vector<FollowedProcess>& followed) {
  // Whom the kernel does not follow it does not count for.
  Processes kept;
  for (const FollowedProcess& counted : followed) {
    const uint64_t records = RecordsOf(counted.entry.main_thread) + RecordsOf(counted.entry.others);
    const auto known = Find(counted.process_id, counted.start());
    Process process = known == processes_.end() ? Process() : known->second;
    if (continues_) process.base = records;
    const uint64_t missing = process.due - std::min(process.due, process.read);
    process.said = std::min(missing, process.missing);
    process.missing = missing;
    process.due = records - std::min(records, process.base);
    process.read = std::min(process.read, process.due);
    kept.emplace(Identity{counted.process_id, counted.start()}, process);
  }
  processes_ = std::move(kept);
  continues_ = false;
}

std::vector<std::string> AttemptCheck::Limitations() const {
  std::vector<std::string> out;
  for (const auto& [identity, process] : processes_) {
    if (process.said == 0) continue;
    out.push_back(
        fmt::format("{} attempts that the kernel counted of process {}, a proxy's, were never read",
                    process.said, identity.first));
  }
  return out;
}

}  // namespace phantomd
