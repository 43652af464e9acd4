// ObjectTracker knows which objects of one kind exist, as far as one watch has told, and turns what
// a source of watch events says into inputs for the engine.
//
// Pods are told apart by UID, slices and nodes by name. A source that loses its watch calls
// Break(), then BeginList() when it starts to list again; at ListComplete() every object that the
// new list did not name gets a deletion, dated "some time since the old watch was last known to be
// alive".
//
//   A and B exist, alive until 10   Break(12, good_until 10)   -> BROKEN, good until 10
//   BeginList, Changed(13, A)                                  -> A
//   ListComplete(14)                                           -> B deleted in [10, 14], SYNCED
//
// Serves every kind of source, a file or the API server. Thread-compatible; reads no clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/engine/input.h"
#include "agent/kube/inherited_feeds.h"
#include "agent/kube/watch_event.h"

namespace phantomd {

class ObjectTracker {
 public:
  explicit ObjectTracker(Feed feed) : feed_(feed) {}

  // What another one knew, which the engine has been told, and that its watch is broken. To be
  // called first; the tracker then stands as after Break().
  void Inherit(Inheritance inheritance);

  // Each appends what the engine must be told to `out`. `change` must be of this feed's kind.
  void Changed(BootTime observed, ObjectChange change, std::vector<Input>& out);
  void Deleted(BootTime observed, ObjectChange change, std::vector<Input>& out);
  // An event whose trouble is not empty. An object that was not understood is not gone: the last
  // that is known of it holds. One that was deleted is gone all the same.
  void NotUnderstood(BootTime observed, const WatchEvent& event, std::vector<Input>& out);
  // The watch ended; it was alive at `good_until`. While it is broken another Break() changes
  // nothing: the gap is one.
  void Break(BootTime observed, BootTime good_until, std::vector<Input>& out);
  // A list begins that will name every object that exists.
  void BeginList();
  // The list that was begun, or the very first one, has named them all.
  void ListComplete(BootTime observed, std::vector<Input>& out);

  Feed feed() const { return feed_; }
  bool synced() const { return synced_; }
  size_t size() const { return known_.size(); }

 private:
  struct Known {
    ObjectChange last;
    uint64_t list = 0;  // the number of the list that was running when it was last named
  };

  const Feed feed_;
  absl::flat_hash_map<std::string, Known> known_;
  uint64_t list_ = 0;
  bool synced_ = false;
  bool broken_ = false;  // between Break() and ListComplete()
  BootTime good_until_;  // while broken
};

}  // namespace phantomd
