// EnvoySpotter tells an Envoy whose executable has another name, and remembers the name for the
// next one.
//
// Envoy names its threads: "wrk:worker_0" and so on, and "dog:main_thread" for the watchdog. A
// process with such a thread is an Envoy. Threads begin some time after the process: a process is
// looked at in kLooks scans and then never again while it runs the same file.
//
// What was spotted once is known from then on at its exec, by file name and size, and the kernel
// can be told under which process names to expect it. So only the first process of an image is
// found as late as at a scan.
//
// Thread-compatible. Reads /proc, never a clock.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/probe/proc_reader.h"

namespace phantomd {

class EnvoySpotter {
 public:
  static constexpr int kLooks = 6;

  // `proc` must outlive it.
  explicit EnvoySpotter(const ProcReader& proc) : proc_(proc) {}

  // In a scan, of a process whose executable's name says nothing.
  bool IsEnvoy(uint32_t pid, const std::string& executable);
  // At its exec, when it has no threads yet.
  bool Knows(uint32_t pid, std::string_view executable) const;
  // When it has ended already, and only the name is left that the kernel saw.
  bool KnowsCommand(std::string_view command) const;
  // After a scan that has come across exactly these processes.
  void KeepOnly(const std::set<uint32_t>& pids);

 private:
  struct Seen {
    std::string executable;
    int looks = 0;
  };
  using File = std::pair<std::string, uint64_t>;  // name, size

  const ProcReader& proc_;
  std::map<uint32_t, Seen> no_envoys_;
  std::set<File> known_;
};

}  // namespace phantomd
