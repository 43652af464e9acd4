#include "agent/probe/record_account.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/probe/kernel_time.h"

namespace phantomd {
namespace {

constexpr std::string_view kAttempt = "attempt";

// Kinds of record that are one kind of observation, in the order in which they are reported.
struct Group {
  std::string_view what;
  std::vector<uint32_t> kinds;
};

const std::vector<Group>& Groups() {
  static const auto* groups = new std::vector<Group>{
      {kAttempt, {CONNECT_RECORD_ATTEMPT, CONNECT_RECORD_SYNC_FAILURE}},
      {"accept", {CONNECT_RECORD_ACCEPT}},
      {"connection_end", {CONNECT_RECORD_END}},
      {"process", {CONNECT_RECORD_EXEC, CONNECT_RECORD_EXIT, CONNECT_RECORD_ELSEWHERE}},
  };
  return *groups;
}

uint64_t LostOf(const FollowedProcess& process) {
  return process.entry.main_thread.lost + process.entry.others.lost;
}

}  // namespace

RecordAccount::RecordAccount(const ProxyProcesses& processes, const KernelTotals& counted,
                             const std::vector<FollowedProcess>& followed, BootTime start)
    : processes_(processes),
      base_(counted),
      settled_(counted),
      settled_at_(start),
      skips_asked_at_(start),
      marks_{{start, counted}} {
  for (const FollowedProcess& process : followed) {
    lost_by_process_.emplace(Identity{process.process_id, process.entry.start_ns}, LostOf(process));
  }
}

bool RecordAccount::LostAttemptsSince(const KernelTotals& counted) const {
  return LostOf(counted[CONNECT_RECORD_ATTEMPT]) != LostOf(settled_[CONNECT_RECORD_ATTEMPT]) ||
         LostOf(counted[CONNECT_RECORD_SYNC_FAILURE]) !=
             LostOf(settled_[CONNECT_RECORD_SYNC_FAILURE]);
}

std::vector<Loss> RecordAccount::Settle(const KernelTotals& counted,
                                        const std::vector<FollowedProcess>& followed, BootTime now,
                                        bool last) {
  std::vector<Loss> out;
  for (const Group& group : Groups()) {
    Loss loss{.what = std::string(group.what), .from = settled_at_, .to = settled_at_};
    for (const uint32_t kind : group.kinds) {
      loss.count += LostOf(counted[kind]) - LostOf(settled_[kind]);
      const auto latest = FromKernel(counted[kind].lost_at_ns);
      loss.to = std::max(loss.to, latest);
      if (counted[kind].unseen != settled_[kind].unseen) {
        const Nanos unseen_for(static_cast<int64_t>(counted[kind].unseen_for_ns));
        loss.from = std::min(loss.from, settled_at_ - unseen_for);
      }
    }
    if (loss.count > 0) SettleProxies(followed, std::move(loss), &out);
    for (const uint32_t kind : group.kinds) {
      uint64_t& unforeseen = unbalanced_[kind].unforeseen;
      const uint64_t made = counted[kind].submitted - base_[kind].submitted;
      if (read_[kind] > made + unforeseen) unforeseen = read_[kind] - made;
    }
  }
  marks_.push_back({now, counted});
  SettleUnread(last ? now : now - kPatience, &out);
  settled_ = counted;
  settled_at_ = now;
  return out;
}

std::vector<Loss> RecordAccount::SettleSkipped(uint64_t skipped_runs, BootTime now, bool last) {
  std::vector<Loss> out;
  const auto tell = [&] {
    told_skips_ = skipped_runs_;
    if (!skipped_since_.is_set()) return;
    out.push_back(Loss{
        .what = std::string(kAttempt), .from = skipped_since_, .to = now, .count_unknown = true});
    skipped_since_ = BootTime();
  };
  tell();
  if (skipped_runs != skipped_runs_) skipped_since_ = skips_asked_at_;
  skipped_runs_ = skipped_runs;
  skips_asked_at_ = now;
  if (last) tell();
  return out;
}

void RecordAccount::SettleUnread(BootTime marked_by, std::vector<Loss>* out) {
  while (marks_.size() > 1 && marks_[1].at <= marked_by) {
    const BootTime checked = marks_.front().at;
    marks_.pop_front();
    const Mark& mark = marks_.front();
    for (const Group& group : Groups()) {
      Loss loss{.what = std::string(group.what), .from = checked, .to = mark.at};
      for (const uint32_t kind : group.kinds) {
        uint64_t& unread = unbalanced_[kind].unread;
        const uint64_t due = mark.counted[kind].submitted - base_[kind].submitted;
        const uint64_t missing = due > read_[kind] ? due - read_[kind] : 0;
        if (missing > unread) loss.count += missing - unread;
        unread = missing;
      }
      if (loss.count > 0) out->push_back(std::move(loss));
    }
  }
}

// `total` comes by proxy, and the rest of it without one: that of applications, and of processes
// that are not known any more.
void RecordAccount::SettleProxies(const std::vector<FollowedProcess>& followed, Loss total,
                                  std::vector<Loss>* out) {
  std::map<ProxyId, uint64_t> by_proxy;
  if (total.what == kAttempt) {
    std::map<Identity, uint64_t> lost_by_process;
    for (const FollowedProcess& process : followed) {
      const Identity identity{process.process_id, process.entry.start_ns};
      const uint64_t lost = LostOf(process);
      lost_by_process.emplace(identity, lost);
      const auto before = lost_by_process_.find(identity);
      const uint64_t news = lost - (before == lost_by_process_.end() ? 0 : before->second);
      const ProxyProcess* known = processes_.Find(process.process_id, process.start());
      if (news > 0 && known != nullptr && !known->proxy_id.empty()) {
        by_proxy[known->proxy_id] += news;
      }
    }
    lost_by_process_ = std::move(lost_by_process);
  }
  for (const auto& [proxy, count] : by_proxy) {
    Loss loss = total;
    loss.proxy_id = proxy;
    loss.count = std::min(count, total.count);
    total.count -= loss.count;
    if (loss.count > 0) out->push_back(std::move(loss));
  }
  if (total.count > 0) out->push_back(std::move(total));
}

std::vector<RecordBalance> RecordAccount::Balances() const {
  std::vector<RecordBalance> out;
  for (const Group& group : Groups()) {
    RecordBalance balance{.what = std::string(group.what)};
    for (const uint32_t kind : group.kinds) {
      balance.submitted += settled_[kind].submitted - base_[kind].submitted;
      balance.read += read_[kind];
      balance.lost += LostOf(settled_[kind]) - LostOf(base_[kind]);
    }
    out.push_back(std::move(balance));
  }
  return out;
}

std::vector<std::string> RecordAccount::Limitations() const {
  std::vector<std::string> out;
  for (const Group& group : Groups()) {
    Unbalanced sum;
    for (const uint32_t kind : group.kinds) {
      sum.unread += unbalanced_[kind].unread;
      sum.unforeseen += unbalanced_[kind].unforeseen;
    }
    if (sum.unread > 0) {
      out.push_back(fmt::format("{} records of the kind '{}' that the kernel made were not read",
                                sum.unread, group.what));
    }
    if (sum.unforeseen > 0) {
      out.push_back(
          fmt::format("{} more records of the kind '{}' were read than the kernel counted",
                      sum.unforeseen, group.what));
    }
  }
  return out;
}

}  // namespace phantomd
