// ApiFeed: the objects of one kind from a Kubernetes API server.
//
// ListWatch says what to ask for and what the answers mean; this sends it, over connections of the
// feed's own. Beside a watch it asks for /livez, one request at a time, `probe_interval` after the
// last: what answers is the server process, which an acknowledgement by TCP is not. Over HTTP/2 the
// probe travels on the watch's own connection. HTTP/1.1 has no room for it there, so that it needs
// a second one, which a load balancer may lead elsewhere: then a dead server behind it is noticed
// by the bookmarks that are missing, 2 minutes late.
//
//   watch runs, probe at 10.0 answered 10.01   -> alive at 10.01
//   probe at 11.0, no answer                   -> 12.0: BROKEN, good until 10.01 or the last event
//   it is answered at 14.5                     -> SYNCED once the watch has run for `settle`
//   it is not by 26.0                          -> hang up, and watch again on a new connection
//   it went over another connection            -> the same at once
//
// Thread-compatible.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/base/clock.h"
#include "agent/kube/api_exchange.h"
#include "agent/kube/inherited_feeds.h"
#include "agent/kube/kube_access.h"
#include "agent/kube/list_watch.h"
#include "agent/kube/watch_source.h"

namespace phantomd {

struct ApiFeedOptions {
  ListWatchOptions list_watch;
  Nanos probe_interval = std::chrono::seconds(1);  // also how long an answer may take
  Nanos patience = std::chrono::seconds(15);       // with a probe, before the watch is given up
};

class ApiFeed : public WatchSource, private ApiExchange::Reader {
 public:
  // `access` may serve several feeds of one thread, and must outlive them. `random`: as ListWatch.
  ApiFeed(ApiFeedOptions options, KubeAccess& access, const Clock& clock,
          std::function<double()> random);

  // As ObjectTracker::Inherit.
  void Inherit(Inheritance inheritance) { watch_.Inherit(std::move(inheritance)); }

  bool Step(std::vector<Input>& out) override;
  void AddWaits(Waits& waits) const override;
  const FeedStats& stats() const override { return watch_.stats(); }

 private:
  class IgnoreAnswer : public ApiExchange::Reader {
    bool OnHead(const ApiAnswer&) override { return true; }
    bool OnBody(std::string_view) override { return true; }
  };

  bool OnHead(const ApiAnswer& answer) override;
  bool OnBody(std::string_view bytes) override;

  void Ask();
  // The next request begins a connection of its own, and those that are there are closed.
  void Disconnect();
  void Perform();
  void Ended(int curl_code);
  void ProbeEnded(int curl_code);
  void Probe();
  // `trouble`: why, one clause; empty: ListWatch knows.
  void HangUp(std::string_view trouble);

  const ApiFeedOptions options_;
  KubeAccess& access_;
  const Clock& clock_;
  ListWatch watch_;
  struct CloseConnections {
    void operator()(void* multi) const;
  };
  std::unique_ptr<void, CloseConnections> multi_;  // CURLM; none: no connection
  IgnoreAnswer ignore_;

  std::optional<ApiRequest> request_;      // waits until it is known whom to ask
  KubeEndpoint endpoint_;                  // of the exchange
  std::unique_ptr<ApiExchange> exchange_;  // none: nothing is asked
  std::unique_ptr<ApiExchange> probe_;     // none: not under way
  BootTime probe_begun_;                   // the last one
  bool probe_is_late_ = false;             // and that has been told
  std::vector<Input>* out_ = nullptr;      // of the Step() under way
  bool has_read_ = false;                  // by it
};

// "pods", "endpointslices" and "nodes" of the cluster, or with `node_name` the pods of that node
// alone; for FeedLoop. `access` must outlive them. They go on from what is inherited.
std::vector<std::unique_ptr<WatchSource>> ApiFeeds(const std::string& node_name,
                                                   Nanos probe_interval, KubeAccess& access,
                                                   const Clock& clock, InheritedFeeds inherited);

}  // namespace phantomd
