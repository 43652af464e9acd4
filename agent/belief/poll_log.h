// PollLog remembers when one proxy's admin API gave a good answer.
//
// The polls of the last three minutes are all kept: that is how long a connection may wait for its
// verdict. Older ones are thinned, but never so far that an answer changes: a poll in which
// something changed and the one before it stay, and so does what is needed for usable().
//
// usable(t): some good poll was received within 30 s (two slow polls) before or after t.
// Example: polls at 10 s, 25 s and 40 s, then only failures until 400 s.
//   usable(3) yes: the poll at 10 s is near      usable(70) yes: 40 s is 30 s ago
//   usable(71) no: nobody knows what the proxy learned since   usable(369) no   usable(370) yes
//
// Stamps of `received` strictly increase. Thread-compatible. Never reads a clock.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "agent/base/boot_time.h"

namespace phantomd {

// One answered poll: the proxy held what it told at some instant between the two.
struct Poll {
  BootTime requested = BootTime::Min();
  BootTime received = BootTime::Min();  // Min: there was none

  bool exists() const { return received != BootTime::Min(); }
  friend bool operator==(const Poll&, const Poll&) = default;
};

class PollLog {
 public:
  static constexpr Nanos kNear = std::chrono::seconds(30);
  static constexpr Nanos kRecent = std::chrono::minutes(3);

  void Add(const Poll& poll);
  void PinLast();  // something changed in the last poll: it and the one before it stay
  // The last poll received at or before `t` that is still known, kept from now on.
  Poll PinLastBefore(BootTime t);

  Poll first() const;  // the first that is remembered; none: !exists()
  Poll last() const;   // none: !exists()
  bool usable(BootTime t) const;

  // The first one requested at or after t; !exists(): none, or t lies more than three minutes
  // before the last poll.
  Poll FirstAfter(BootTime t) const;

  // The polls around t: the last one received at or before t, and the first one requested at or
  // after it; a connect at t is counted by the second and not by the first. Nothing if either is
  // missing or older than three minutes before the last poll.
  std::optional<std::pair<Poll, Poll>> Around(BootTime t) const;

  Nanos Median() const;  // received - requested, of the good polls of the last three minutes

  // Forgets what is older than `horizon`, except what usable() needs just before it, the last poll
  // before it, and those whose `received` is in `keep` (sorted).
  void Compact(BootTime horizon, const std::vector<BootTime>& keep);

  void ForEach(const std::function<void(const Poll&)>& visit) const;  // oldest first

 private:
  struct Entry {
    Poll poll;
    bool pinned = false;
  };
  void Thin();

  std::vector<Entry> old_;    // thinned
  std::deque<Entry> recent_;  // complete
};

}  // namespace phantomd
