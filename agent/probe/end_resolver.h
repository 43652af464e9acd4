// EndResolver says whose connection it was that ended, and holds back the ends that are nobody's.
//
// A proxy's is told by the process that connected. An application's depends on whether the proxy
// answered it, which InitiatorResolver found out when it was established: those that were not
// intercepted are remembered until they end, a bounded number of them, the oldest forgotten first.
// The end of an intercepted one strands nobody and is dropped.
//
// What the bounds cost is told: the end of a connection that may be a forgotten one is dropped, and
// so is the oldest end that waits when too many do. Each is a loss of the kind
// "unnamed_connection_end": it may as well have been an intercepted one's, so that the count is an
// upper bound.
//
// Example: an application's connection is established at 5.0 s and reset at 5.1 s; its attempt is
// decided at 6.2 s, and its end with it, kApplication. One established at 5.0 s, intercepted, and
// reset at 9.0 s is dropped at the round's end.
//
// A stall is not the end: whoever stalled is remembered too, because the kernel may give the
// connection up minutes after the process has been forgotten. Proxies' connections have a memory of
// their own, which no storm of an application's empties.
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "agent/engine/input.h"
#include "agent/probe/initiator.h"
#include "agent/probe/opener_memory.h"
#include "agent/verdict/attempt.h"
#include "bpf/connect_event.h"

namespace phantomd {

class EndResolver {
 public:
  static constexpr size_t kRemembered = 65'536;  // of applications, and as many of proxies
  static constexpr size_t kWaiting = 65'536;

  // `openers` must outlive the resolver.
  EndResolver(const InitiatorResolver& openers, Nanos accept_wait)
      : openers_(openers), accept_wait_(accept_wait) {}

  // An attempt whose initiator has been decided.
  void Decided(const Attempt& attempt);
  // Somebody's connection, adopted at `now` or earlier, of which no attempt has told.
  void Adopted(uint64_t socket_cookie, const Opener& opener, BootTime now);
  // Null: not remembered.
  const Opener* Remembered(uint64_t socket_cookie) const;
  // What can be told at once is appended to `out`.
  void OnEnd(const end_record& record, std::vector<ConnectionEnd>& out);
  // Decides what has waited for accept_wait since it was established; everything with
  // BootTime::Max().
  void Expire(BootTime now, std::vector<ConnectionEnd>& out);
  // Since the last call.
  std::vector<Loss> TakeLosses();

  size_t waiting() const { return waiting_.size(); }
  size_t remembered() const { return applications_.size() + proxies_.size(); }

 private:
  void Remember(uint64_t socket_cookie, const Opener& opener, BootTime by, bool adopted);
  // False: not known, by now.
  bool Resolve(ConnectionEnd& end);
  void Told(const ConnectionEnd& end);
  void Drop(const ConnectionEnd& end);

  const InitiatorResolver& openers_;
  const Nanos accept_wait_;
  OpenerMemory applications_{kRemembered};
  OpenerMemory proxies_{kRemembered};
  std::deque<ConnectionEnd> waiting_;
  Loss dropped_;  // since the last TakeLosses()
};

}  // namespace phantomd
