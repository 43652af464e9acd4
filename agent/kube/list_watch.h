// ListWatch: how the objects of one kind are listed and watched at an API server, without sockets
// and without a clock.
//
// The owner asks for a request, sends it and hands in the answer: its head, its body piece by
// piece, its end. What comes out are inputs for the engine. One request is under way at a time.
//
//   WatchList where the server has it, else a list and a watch from its resourceVersion.
//   A watch that ends well goes on from the last resourceVersion; so does one that breaks, after a
//   pause. 410 (status or event), a resourceVersion that goes back, and an event that cannot be
//   read need a new list; then what the list lacks is deleted at some time since the watch was last
//   known to be alive. 401 is tried again once at once, with a fresh token.
//
//   alive until 10   OnEnd(12, "reset")     -> BROKEN, good until 10
//   13: watch again  OnHead(13.1, 200)      -> nothing yet: what was missed comes first
//                    Tick(14.1)             -> SYNCED
//   or 410           list, watch, settle    -> what the list names, deletions in [10, now], SYNCED
//
// The feed is synced when a list is complete and the watch has run for `settle`: what happened
// meanwhile comes at the beginning of a watch and is older than `feed_delay`. Alive is what the
// server process answers: events, bookmarks and probes. The first probe that is not answered breaks
// the feed at the last sign of life; so do 2 minutes without anything on the watch itself, from its
// last event on. Thread-compatible.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/kube/answer_reader.h"
#include "agent/kube/api_paths.h"
#include "agent/kube/backoff.h"
#include "agent/kube/inherited_feeds.h"
#include "agent/kube/object_tracker.h"
#include "agent/kube/watch_source.h"

namespace phantomd {

struct ListWatchOptions {
  ApiObjects objects;
  bool watch_list = true;  // try a WatchList first
  Nanos settle = std::chrono::seconds(1);
  Nanos answer_limit = std::chrono::seconds(30);  // between two pieces of an answer, but of a watch
  Nanos silence_limit = std::chrono::minutes(2);  // between two events or bookmarks of a watch
  Nanos shortest_watch = std::chrono::minutes(5);  // the server ends it; at most twice as long
};

struct ApiRequest {
  std::string path;          // with its query
  std::string accept;        // media types
  bool fresh_token = false;  // the last one was refused
};

struct ApiAnswer {
  int status = 0;  // of HTTP
  std::string content_type;
  Nanos retry_after{0};  // of the header; 0: none
};

class ListWatch {
 public:
  // `random` gives numbers in [0, 1); `source` is for people: "pods of https://10.96.0.1".
  ListWatch(ListWatchOptions options, std::string source, std::function<double()> random);

  // As ObjectTracker::Inherit.
  void Inherit(Inheritance inheritance);

  // A request, if it is time for one; then no other before OnEnd().
  std::optional<ApiRequest> TakeRequest(BootTime now);

  // The answer. False: enough, hang up and call OnEnd(); that changes nothing any more.
  bool OnHead(BootTime now, const ApiAnswer& answer, std::vector<Input>& out);
  bool OnBody(BootTime now, std::string_view bytes, std::vector<Input>& out);
  // `trouble`: what broke the connection, one clause; empty: the answer ended as it should. Also
  // when there was no answer at all.
  void OnEnd(BootTime now, std::string_view trouble, std::vector<Input>& out);

  // Whether the server answered a probe on the watch's connection in time.
  void OnProbe(BootTime now, bool answered, std::vector<Input>& out);
  // Time has passed; call it at least as often as probes. False: hang up, as above.
  bool Tick(BootTime now, std::vector<Input>& out);

  bool watching() const { return state_ == State::kWatching; }
  const FeedStats& stats() const { return stats_; }

 private:
  enum class State {
    kIdle,     // until next_
    kAsked,    // no head yet
    kRefused,  // the body says why
    kListing,  // items, or the first events of a WatchList
    kWatching,
    kAbandoned,  // dealt with; the end is still to come
  };
  enum class Want { kWatchList, kList, kWatch };

  bool Abandon(BootTime now, std::string_view trouble, std::vector<Input>& out);
  void Failed(BootTime now, std::string_view trouble, Nanos retry_after, std::vector<Input>& out);
  void Refused(BootTime now, std::vector<Input>& out);
  // The watch cannot go on from where it was. `quorum`: a list from etcd itself, whatever its
  // version.
  void StartOver(bool quorum);
  bool TakeEvents(BootTime now, std::vector<Input>& out);
  // False: the answer has ended.
  bool TakeEvent(BootTime now, WatchEvent event, std::vector<Input>& out);
  // False: there is something wrong with it, and that is dealt with.
  bool TakeListEnd(BootTime now, const ListEnd& end, std::vector<Input>& out);
  // The list that is complete is good once the watch behind it has run for a while.
  void Settle(BootTime now);
  // Then the server is another, or its etcd was restored; that is dealt with.
  bool WentBack(BootTime now, std::string_view to, std::vector<Input>& out);
  // What is told is complete up to the last sign of life only. `trouble`: why, one clause.
  void Break(BootTime now, std::string_view trouble, std::vector<Input>& out);
  // Between two watches the feed is whole for a moment only.
  void BreakIfBehind(BootTime now, std::vector<Input>& out);
  // Up to when everything that came was understood.
  BootTime GoodUntil() const;
  void TellLoss(BootTime now, std::string what, BootTime from, std::vector<Input>& out);
  void UpdateStats();
  std::string Path() const;

  const ListWatchOptions options_;
  std::function<double()> random_;
  Backoff backoff_;
  ObjectTracker tracker_;
  FeedStats stats_;

  State state_ = State::kIdle;
  Want want_;
  BootTime next_ = BootTime::Min();  // not before it is there another request
  bool json_only_ = false;           // the server cannot do protobuf
  bool no_watch_list_ = false;       // nor WatchLists
  bool listed_ = false;              // a list has begun before
  bool token_refused_ = false;       // by the last answer
  bool quorum_ = false;              // list from etcd, not from a cache that may be behind
  std::string version_;              // the latest resourceVersion that is known; empty: none
  std::string continue_;             // of the list's next page

  // Of the answer under way.
  ApiAnswer answer_;
  std::unique_ptr<AnswerReader> reader_;
  std::string refusal_;     // its body
  BootTime asked_;          // when the request was taken
  BootTime last_piece_;     // when something of the answer last came; at first asked_
  bool list_told_ = false;  // BeginList() was called for the list under way

  BootTime life_;          // when the watch was last known to be alive; unset: never
  bool settling_ = false;  // the list is complete and the watch runs
  BootTime settled_at_;    // while settling_
};

}  // namespace phantomd
