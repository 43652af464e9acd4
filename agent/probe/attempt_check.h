// AttemptCheck holds what was read of each proxy's process against the kernel's own count of its
// attempts: the one check of the whole way from the hook to the reader that no sum of all records
// makes, where what one process misses another may have too much of.
//
// The kernel counts an attempt when it makes its record, or counts it as lost. So what it has
// counted by one scan has been read by the next. What is missing then, and is still at the scan
// after it, is said in Limitations() until it has been read or the process is forgotten.
//
// Example: by 10 s process 7 has made 100 attempts, 3 of which left no record. 95 of them have been
// read by 20 s, and no more of them by 30 s: 2 are missing.
//
// An agent that follows another one by its pins cannot tell which of the counted ones that one has
// read: it begins with the counts that it finds. What was read beyond the count (the kernel had not
// begun to count yet, or counted for the other agent) makes up for nothing that is missing later.
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/probe/followed_processes.h"
#include "bpf/connect_event.h"

namespace phantomd {

class AttemptCheck {
 public:
  // `continues`: the kernel has counted for an agent before this one.
  explicit AttemptCheck(bool continues) : continues_(continues) {}

  void Read(const connect_record& record);
  // With the kernel's counts, in no order.
  void AfterScan(const std::vector<FollowedProcess>& followed);

  // As of the last scan.
  std::vector<std::string> Limitations() const;

 private:
  struct Process {
    uint64_t read = 0;
    uint64_t base = 0;     // counted before anything was read here
    uint64_t due = 0;      // to be read by the next scan
    uint64_t missing = 0;  // by the last one
    uint64_t said = 0;     // by the last two
  };

  using Identity = std::pair<uint32_t, BootTime>;  // process ID, start
  using Processes = std::map<Identity, Process>;
  Processes::iterator Find(uint32_t process_id, BootTime start);

  bool continues_;
  Processes processes_;
};

}  // namespace phantomd
