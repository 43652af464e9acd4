// Story: a Lifecycle that is told one line a change, and asked in one word.
//
//   @10 sync                                  all three feeds have their first list
//   @12.5 pod a ip=10.0.0.1 created=11        words that are not said stay as they were said before
//   @20 pod a del=19                          deletion requested; fin=, phase=Failed,
//   reason=Evicted,
//                                             wl=Deployment/catalog, rev=, node=, name=, hostnet,
//                                             noip
//   @25 pod a deleted [since=18]              since: a gap hid it
//   @12 slice s1 web a b:unready c:terminating 10.9.9.9   endpoints of Service web, by pod or
//   address
//   @30 slice s1 gone
//   @5 node n1 ready lease=4 addr=192.168.0.1 cidr=10.0.1.0/24  |  notready, gone
//   @31 end a at=30.2 ip=10.0.0.1             the own node's kernel
//   @40 broken pods until=38    @50 synced pods
//
// Wall and boot clock agree; feed_delay 2 s, typical_delay 100 ms, clock_error 500 ms. Times are
// seconds. Who() answers "a!" (surely), "a?" (maybe), with "-" for surely withdrawn and "~" for
// maybe, newest first, then "nobody", then why a pod may be untold: "early", "gap", "untold".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/lifecycle/lifecycle.h"

namespace phantomd::testing {

inline constexpr std::string_view kX = "10.0.0.1";  // the address of most stories

BootTime At(double seconds);
IpAddr Ip(std::string_view text);
PodUid UidOf(std::string_view pod);          // the UID of the pod of this name
std::string Show(const TimeBounds& bounds);  // "[1.5 2]", "[3 -]"

class Story {
 public:
  explicit Story(std::string_view lines = "", Lifecycle::Options options = DefaultOptions());

  static Lifecycle::Options DefaultOptions();

  // Tells it more. Returns the addresses that the last line touched.
  TouchedAddresses Tell(std::string_view lines);

  std::string Who(std::string_view ip, double t) const;
  PodHandle Pod(std::string_view name) const;
  std::string Released(std::string_view pod) const;
  std::string Withdrawn(std::string_view pod) const;
  // "name: pod pod", of the change that takes the pod.
  std::string Change(std::string_view pod, double now) const;

  Lifecycle& lifecycle() { return *lifecycle_; }
  const Lifecycle& lifecycle() const { return *lifecycle_; }

 private:
  TouchedAddresses TellLine(const std::vector<std::string>& words);
  TouchedAddresses TellPod(const std::vector<std::string>& words, BootTime at);
  TouchedAddresses TellSlice(const std::vector<std::string>& words, BootTime at);
  TouchedAddresses TellNode(const std::vector<std::string>& words, BootTime at);

  std::unique_ptr<Lifecycle> lifecycle_;
  std::map<std::string, PodChange> pods_;
  std::map<std::string, NodeChange> nodes_;
  std::map<std::string, std::string> services_;  // of slices
};

// How facts read in a test: all of them, so that two answers can be compared.
std::string Describe(const AddressFacts& facts);

}  // namespace phantomd::testing
