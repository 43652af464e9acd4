// InheritedFeeds: what the inputs of an engine say of its feeds, for the feeds that follow on them:
// which objects exist, and up to when each watch was known to be alive.
//
// An agent that takes over another's state learns every input of it. Then all feeds are broken, and
// what their first list lacks was deleted at some time since. Example: pods A and B told at 5 s,
// synced at 6 s, the last input at 60 s, a watch's death is noticed within 2 s: BROKEN, good until
// 58 s; the list names A alone: B was deleted in [58 s, now].
//
// Thread-compatible.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/engine/input.h"
#include "agent/kube/object_decoder.h"

namespace phantomd {

// Of one feed.
struct Inheritance {
  std::vector<ObjectChange> existing;  // as last told
  BootTime good_until;
};

class InheritedFeeds {
 public:
  void Learn(const Input& input);
  // What the engine must be told at the end of its inputs, when no feed is followed any more.
  // `notice`: within which time the death of a watch is noticed.
  std::vector<Input> Break(Nanos notice);
  // After Break(). Once a feed.
  Inheritance Take(Feed feed);

 private:
  struct OfFeed {
    absl::flat_hash_map<std::string, ObjectChange> existing;
    bool synced = false;
    BootTime since;       // synced
    BootTime good_until;  // not synced
  };

  std::map<Feed, OfFeed> feeds_;
  BootTime first_;  // input; unset: none
  BootTime last_;
};

}  // namespace phantomd
