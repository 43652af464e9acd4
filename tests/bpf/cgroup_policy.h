// A cgroup in which no connect is permitted, by a BPF program attached to it, as some network
// policies do it.
//
// It lies in a cgroup v2 hierarchy that is mounted nowhere, and is removed with the object; when
// the test is killed, the next one removes its empty directory.
#pragma once

#include <string>

#include "tests/bpf/network_lab.h"

namespace phantomd {

class ForbiddingCgroup {
 public:
  ForbiddingCgroup();
  ~ForbiddingCgroup();
  ForbiddingCgroup(const ForbiddingCgroup&) = delete;
  ForbiddingCgroup& operator=(const ForbiddingCgroup&) = delete;

  // Moves the calling process there.
  void Enter() const;

 private:
  Fd root_;
  const std::string name_;
  Fd cgroup_;
};

}  // namespace phantomd
