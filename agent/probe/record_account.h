// RecordAccount balances what the kernel says it recorded against what was read, and turns what is
// missing into losses with bounds.
//
// For each kind of record, at any time:   submitted = read + still in the ring,
//                                         what happened = submitted + lost.
// A round reads until the ring seems empty: it may stop early at a record that some CPU is still
// writing. So a record is missing when it had been submitted kPatience ago and has not been read:
// that is said, and is a loss. Should it be read after all, it is missing no more. After the last
// round nobody reads any more: then whatever has not been read is missing at once.
//
// A loss says how much of what is missing, and since when and until when its records would have
// been made (an attempt's at its outcome; its SYN may be older). What no program was run for is
// noticed when its socket goes: it may have happened as long before as any such socket has lived.
// Of the attempts that followed
// processes made, the kernel counts the lost ones for each process: they are told by proxy.
//
// Example: settled at 10.00 s with nothing lost. At 10.05 s the kernel has lost 7 attempts, the
// latest at 10.051 s, 5 of them of proxy P -> {attempt, 5, [10.00, 10.051], P} and
// {attempt, 2, [10.00, 10.051]}.
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/engine/input.h"
#include "agent/probe/followed_processes.h"
#include "agent/probe/kernel_totals.h"
#include "agent/probe/proxy_process.h"

namespace phantomd {

// What has happened of one kind since the start.
struct RecordBalance {
  std::string what;        // as in Loss: "attempt", "accept", "connection_end", "process"
  uint64_t submitted = 0;  // records that the kernel made
  uint64_t read = 0;       // of these
  uint64_t lost = 0;       // happened, but no record of it could be made

  friend bool operator==(const RecordBalance&, const RecordBalance&) = default;
};

class RecordAccount {
 public:
  static constexpr Nanos kPatience = std::chrono::seconds(2);

  // What the kernel had counted by `start`, of all and of `followed`, is nobody's. `processes` must
  // outlive the account.
  RecordAccount(const ProxyProcesses& processes, const KernelTotals& counted,
                const std::vector<FollowedProcess>& followed, BootTime start);

  void Read(uint32_t kind, uint64_t records = 1) { read_[kind] += records; }

  // After a round's reading. `counted` was read after `followed`, and both at `now` or later.
  // `last`: what has not been read by now never will be.
  std::vector<Loss> Settle(const KernelTotals& counted,
                           const std::vector<FollowedProcess>& followed, BootTime now,
                           bool last = false);
  // Programs that the kernel did not run, since the start. Whether they would have made a record is
  // unknown; their loss is told by the next call, whose time is surely later, or by the last one.
  std::vector<Loss> SettleSkipped(uint64_t skipped_runs, BootTime now, bool last = false);
  // Of these, those whose loss has been told.
  uint64_t told_skips() const { return told_skips_; }
  // Whether Settle() will ask for the processes' own counts.
  bool LostAttemptsSince(const KernelTotals& counted) const;

  std::vector<RecordBalance> Balances() const;
  // Empty while everything is balanced.
  std::vector<std::string> Limitations() const;

 private:
  using Identity = std::pair<uint32_t, uint64_t>;  // process ID, start

  struct Unbalanced {
    uint64_t unread = 0;      // submitted, not read in kPatience
    uint64_t unforeseen = 0;  // read, never submitted
  };

  // What the kernel had counted when a round settled.
  struct Mark {
    BootTime at;
    KernelTotals counted;
  };

  // What is missing of what was submitted by the newest mark that is old enough.
  void SettleUnread(BootTime marked_by, std::vector<Loss>* out);
  void SettleProxies(const std::vector<FollowedProcess>& followed, Loss total,
                     std::vector<Loss>* out);

  const ProxyProcesses& processes_;
  const KernelTotals base_;
  KernelTotals settled_;
  BootTime settled_at_;
  uint64_t skipped_runs_ = 0;
  uint64_t told_skips_ = 0;
  BootTime skips_asked_at_;
  BootTime skipped_since_;  // set: runs were skipped, which is yet to be told
  std::array<uint64_t, CONNECT_COUNTER_KINDS> read_{};
  std::array<Unbalanced, CONNECT_COUNTER_KINDS> unbalanced_{};
  std::deque<Mark> marks_;  // the first was checked last; the others are younger
  std::map<Identity, uint64_t> lost_by_process_;
};

}  // namespace phantomd
