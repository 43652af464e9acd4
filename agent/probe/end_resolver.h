// EndResolver says whose connection it was that ended, and holds back the ends that are nobody's.
//
// A proxy's is told by the process that connected. An application's depends on whether the proxy
// answered it, which InitiatorResolver found out when it was established: those that were not
// intercepted are remembered, a bounded number of them, the oldest forgotten first. The end of an
// intercepted or forgotten one strands nobody and is dropped.
//
// Example: an application's connection is established at 5.0 s and reset at 5.1 s; its attempt is
// decided at 6.2 s, and its end with it, kApplication. One established at 5.0 s, intercepted, and
// reset at 9.0 s is dropped at the round's end.
//
// A stall is not the end: whoever stalled is remembered too, because the kernel may give the
// connection up minutes after the process has been forgotten.
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/probe/initiator.h"
#include "agent/verdict/attempt.h"
#include "bpf/connect_event.h"

namespace phantomd {

class EndResolver {
 public:
  static constexpr size_t kRemembered = 65'536;

  // `openers` must outlive the resolver.
  EndResolver(const InitiatorResolver& openers, Nanos accept_wait)
      : openers_(openers), accept_wait_(accept_wait) {}

  // An attempt whose initiator has been decided.
  void Decided(const Attempt& attempt);
  // Somebody's connection, of which no attempt has told.
  void Remember(uint64_t socket_cookie, const Opener& opener);
  // Null: not remembered.
  const Opener* Remembered(uint64_t socket_cookie) const;
  // What can be told at once is appended to `out`.
  void OnEnd(const end_record& record, std::vector<ConnectionEnd>& out);
  // Decides what has waited for accept_wait since it was established; everything with
  // BootTime::Max().
  void Expire(BootTime now, std::vector<ConnectionEnd>& out);

  size_t waiting() const { return waiting_.size(); }
  size_t remembered() const { return known_.size(); }

 private:
  // False: not known, by now.
  bool Resolve(ConnectionEnd& end) const;

  const InitiatorResolver& openers_;
  const Nanos accept_wait_;
  absl::flat_hash_map<uint64_t, Opener> known_;  // by socket cookie
  std::deque<uint64_t> by_age_;
  std::deque<ConnectionEnd> waiting_;
};

}  // namespace phantomd
