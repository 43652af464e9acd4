// OpenerMemory remembers whose connections are, a bounded number of them: the oldest is forgotten
// first, and that is remembered too, as far as it says which connections may be among the
// forgotten.
//
// Example with room for two: Remember(a, by 5 s), (b, by 6 s), (c, by 7 s) forgets a. Then
// MayHaveForgotten() is true of a connection that was established at 4 s, and false of one at 6 s.
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "agent/base/boot_time.h"
#include "agent/probe/initiator.h"

namespace phantomd {

class OpenerMemory {
 public:
  explicit OpenerMemory(size_t room) : room_(room) {}

  // Established by `by`; or adopted, when the kernel may say a later instant. Replaces what was
  // known of it.
  void Remember(uint64_t socket_cookie, const Opener& opener, BootTime by, bool adopted);
  // Null: not remembered.
  const Opener* Find(uint64_t socket_cookie) const;
  // The connection that was established then has ended. A socket may have begun another one since.
  void Ended(uint64_t socket_cookie, BootTime established);
  // Whether there may have been an entry of it, if there is none now.
  bool MayHaveForgotten(BootTime established, bool adopted) const;

  size_t size() const { return known_.size(); }

 private:
  struct Entry {
    Opener opener;
    BootTime by;
    bool adopted = false;
    uint64_t number = 0;
  };
  bool IsCurrent(const std::pair<uint64_t, uint64_t>& aged) const;

  const size_t room_;
  absl::flat_hash_map<uint64_t, Entry> known_;        // by socket cookie
  std::deque<std::pair<uint64_t, uint64_t>> by_age_;  // cookie, number; also of erased ones
  uint64_t numbers_ = 0;
  BootTime forgotten_by_;  // unset: none yet
  bool forgot_adopted_ = false;
};

}  // namespace phantomd
