// Paths and queries of lists and watches at an API server.
//
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "agent/base/boot_time.h"
#include "agent/lifecycle/changes.h"

namespace phantomd {

// Which objects of a kind: "spec.nodeName=node-a"; empty: all of the cluster.
struct ApiObjects {
  Feed feed = Feed::kPods;
  std::string field_selector;
};

// A list that is not older than `version`, from the server's cache; "0": of any age; empty: from
// etcd itself.
std::string ListPath(const ApiObjects& objects, std::string_view version);
// The next page of a list.
std::string NextPagePath(const ApiObjects& objects, std::string_view continue_token);
// What happens after `version`.
std::string WatchPath(const ApiObjects& objects, std::string_view version, Nanos at_most);
// A WatchList: what exists, not older than `version` (empty: than now), and then what happens.
std::string WatchListPath(const ApiObjects& objects, std::string_view version, Nanos at_most);

}  // namespace phantomd
