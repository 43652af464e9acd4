// WatchSource: something that tells about the objects of one kind, a file or the API server.
//
// The owner calls Step() again and again on one thread; inputs come out with stamps that never
// decrease and are never earlier than the call. stats() is for the same thread.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/engine/input.h"

namespace phantomd {

// How one feed stands, for people.
struct FeedStats {
  std::string source;              // "file:/feeds/pods.json"
  Feed feed = Feed::kUnspecified;  // unspecified: not known yet
  bool synced = false;
  uint64_t objects = 0;    // that exist, as far as is known
  uint64_t events = 0;     // understood
  uint64_t skipped = 0;    // broken ones
  uint64_t relists = 0;    // how often the list had to be read again
  std::string last_error;  // one sentence with file and line; empty: none so far
  std::string waiting;     // what it waits for, one sentence; empty: nothing but news

  friend bool operator==(const FeedStats&, const FeedStats&) = default;
};

// What may bring news, for poll(2), and after how long it should be looked at without any.
struct Waits {
  std::vector<pollfd> sockets;
  Nanos at_most = std::chrono::milliseconds(100);
};

class WatchSource {
 public:
  virtual ~WatchSource() = default;
  // Does what can be done without waiting and appends it to `out`. True: there is more at once.
  virtual bool Step(std::vector<Input>& out) = 0;
  // Adds what this source waits for, until the next Step().
  virtual void AddWaits(Waits& waits) const = 0;
  virtual const FeedStats& stats() const = 0;
};

}  // namespace phantomd
