// An API server that makes a large cluster up: it serves the pods, EndpointSlices and Nodes of one
// as WatchLists in protobuf over HTTP/1.1, then changes of them at a steady pace.
//
//   cluster_server PODS SLICES NODES CHANGES-A-SECOND
//
// Prints its port, serves until its standard input ends, then prints when it sent each pod that it
// made during the watch, a line each: UID and CLOCK_BOOTTIME in ns.
//
// Of ten changes two are of slices, two are pods that become unready or ready, six are three pods
// replaced: one deleted, one added on the same address.
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <deque>
#include <list>
#include <thread>
#include <utility>

#include "agent/base/check.h"
#include "agent/base/clock.h"
#include "agent/base/mutex.h"
#include "agent/kube/object_decoder.h"
#include "bench/kube/bulky_pod.h"
#include "tests/base/loopback.h"

namespace phantomd::bench {
namespace {

struct Size {
  size_t pods = 0, slices = 0, nodes = 0, changes = 0;
};

// One frame of a watch. `node`: of a pod; `made_uid`: of a pod made during the watch.
struct Frame {
  Feed feed = Feed::kUnspecified;
  size_t node = 0;
  std::string bytes;
  std::string made_uid;
};
using FramePtr = std::shared_ptr<const Frame>;

std::string EventFrame(const std::string& type, const std::string& kind, const std::string& raw) {
  return testing::PbFrameOf(testing::PbEventOf(type, testing::PbEnvelopeOf(kind, raw)));
}

std::string Raw(const std::string& kind, const std::string& json) {
  const std::optional<std::string> raw = testing::PbFromJson(kind, json);
  PHANTOMD_CHECK(raw.has_value());
  return *raw;
}

const char* KindOf(Feed feed) {
  return feed == Feed::kPods ? "Pod" : feed == Feed::kSlices ? "EndpointSlice" : "Node";
}

// The cluster, as frames that tell of each object that exists.
class Cluster {
 public:
  explicit Cluster(Size size)
      : size_(size), ready_(size.pods, true), generation_(size.pods, 0), pods_(size.pods) {
    for (size_t i = 0; i < size.pods; ++i) pods_[i] = Pod(i, "ADDED");
    for (size_t i = 0; i < size.slices; ++i) slices_.push_back(Slice(i, "ADDED"));
    for (size_t i = 0; i < size.nodes; ++i) nodes_.push_back(Node(i));
  }

  const std::vector<FramePtr>& Existing(Feed feed) const {
    return feed == Feed::kPods ? pods_ : feed == Feed::kSlices ? slices_ : nodes_;
  }

  // The next change.
  std::vector<FramePtr> Change() {
    ++version_;
    const size_t at = (version_ * 7919) % size_.pods;
    switch (version_ % 10) {
      case 0:
      case 1: {
        const size_t slice = (version_ * 7919) % size_.slices;
        slices_[slice] = Slice(slice, "ADDED");
        return {Slice(slice, "MODIFIED")};
      }
      case 2:
      case 3:
        ready_[at] = !ready_[at];
        pods_[at] = Pod(at, "ADDED");
        return {Pod(at, "MODIFIED")};
      case 4:
      case 6:
      case 8: {
        FramePtr gone = Pod(at, "DELETED");
        ++generation_[at];
        replaced_ = at;
        return {std::move(gone)};
      }
      default: {
        ready_[replaced_] = true;
        pods_[replaced_] = Pod(replaced_, "ADDED");
        Frame made = *pods_[replaced_];
        made.made_uid = Uid(replaced_);
        return {std::make_shared<const Frame>(std::move(made))};
      }
    }
  }

  FramePtr Bookmark(Feed feed, bool of_the_list) const {
    const std::string json =
        fmt::format(R"({{"metadata":{{"resourceVersion":"{}"{}}}}})", version_,
                    of_the_list ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "");
    return std::make_shared<const Frame>(
        Frame{feed, 0, EventFrame("BOOKMARK", KindOf(feed), Raw(KindOf(feed), json)), ""});
  }

 private:
  std::string Uid(size_t i) const {
    return fmt::format("{:08x}-0000-4000-8000-{:012x}", i, generation_[i]);
  }
  static std::string Ip(size_t i) {
    return fmt::format("10.{}.{}.{}", i >> 16, (i >> 8) & 255, i & 255);
  }
  size_t NodeOf(size_t i) const { return i % size_.nodes; }

  FramePtr Pod(size_t i, const std::string& type) const {
    const std::string json = fmt::format(
        R"({{"metadata":{{"name":"app{0}-6d5f7c9b8-{1:05x}","generateName":"app{0}-6d5f7c9b8-",)"
        R"("namespace":"team{2}","uid":"{3}","resourceVersion":"{4}",)"
        R"("creationTimestamp":"2026-11-29T18:40:11Z",)"
        R"("labels":{{"app":"app{0}","pod-template-hash":"6d5f7c9b8"}},)"
        R"("ownerReferences":[{{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"app{0}-6d5f7c9b8",)"
        R"("uid":"0b6e1d0e-0000-4000-8000-{0:012x}","controller":true}}]}},)"
        R"("spec":{{"nodeName":"node-{5}","containers":[{{"name":"app","image":"app:1"}}]}},)"
        R"("status":{{"phase":"Running","podIP":"{6}","podIPs":[{{"ip":"{6}"}}],)"
        R"("conditions":[{{"type":"Ready","status":"{7}"}}],)"
        R"("containerStatuses":[{{"name":"app","ready":true,)"
        R"("state":{{"running":{{"startedAt":"2026-11-29T18:40:13Z"}}}}}}]}}}})",
        i / 20, i, (i / 20) % 50, Uid(i), version_, NodeOf(i), Ip(i), ready_[i] ? "True" : "False");
    return std::make_shared<const Frame>(
        Frame{Feed::kPods, NodeOf(i), EventFrame(type, "Pod", WithBulk(Raw("Pod", json))), ""});
  }
  // The pods of a slice are neighbours.
  FramePtr Slice(size_t s, const std::string& type) const {
    const size_t each = size_.pods / size_.slices;
    std::string endpoints;
    for (size_t i = s * each; i < (s + 1) * each; ++i) {
      endpoints += fmt::format(
          R"({}{{"addresses":["{}"],"conditions":{{"ready":{},"serving":true,"terminating":false}},)"
          R"("nodeName":"node-{}","targetRef":{{"kind":"Pod","name":"p","uid":"{}"}}}})",
          endpoints.empty() ? "" : ",", Ip(i), static_cast<bool>(ready_[i]), NodeOf(i), Uid(i));
    }
    const std::string json = fmt::format(
        R"({{"addressType":"IPv4","metadata":{{"name":"app{0}-5x2kq","namespace":"team{1}",)"
        R"("uid":"e{0}","resourceVersion":"{2}","labels":{{"kubernetes.io/service-name":"app{0}"}}}},)"
        R"("endpoints":[{3}],"ports":[{{"name":"http","port":8080,"protocol":"TCP"}}]}})",
        s, s % 50, version_, endpoints);
    return std::make_shared<const Frame>(
        Frame{Feed::kSlices, 0, EventFrame(type, "EndpointSlice", Raw("EndpointSlice", json)), ""});
  }
  FramePtr Node(size_t n) const {
    const std::string json =
        fmt::format(R"({{"metadata":{{"name":"node-{0}","uid":"n{0}","resourceVersion":"1"}},)"
                    R"("spec":{{"podCIDRs":["10.{1}.{2}.0/24"]}},)"
                    R"("status":{{"conditions":[{{"type":"Ready","status":"True"}}],)"
                    R"("addresses":[{{"type":"InternalIP","address":"172.16.{1}.{2}"}}]}}}})",
                    n, n / 250, n % 250);
    return std::make_shared<const Frame>(
        Frame{Feed::kNodes, 0, EventFrame("ADDED", "Node", Raw("Node", json)), ""});
  }

  const Size size_;
  uint64_t version_ = 1;
  std::vector<bool> ready_;
  std::vector<size_t> generation_;
  size_t replaced_ = 0;  // the pod that the last deletion was of
  std::vector<FramePtr> pods_;
  std::vector<FramePtr> slices_;
  std::vector<FramePtr> nodes_;
};

class Server {
 public:
  explicit Server(Size size) : changes_(size.changes), cluster_(size) {
    listener_ = testing::ListenOnLoopback(&port_);
    acceptor_ = std::thread([this] { Accept(); });
    changer_ = std::thread([this] { ChangeAll(); });
  }
  // All watches end.
  ~Server() {
    over_ = true;
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    changer_.join();
    std::list<std::thread> connections;
    {
      MutexLock lock(mutex_);
      for (Watch* watch : watches_) watch->news.NotifyAll();
      for (const int fd : open_) shutdown(fd, SHUT_RDWR);
      connections.swap(connections_);
    }
    for (std::thread& connection : connections) connection.join();
    close(listener_);
  }

  uint16_t port() const { return port_; }
  void PrintSent() {
    MutexLock lock(mutex_);
    for (const auto& [uid, at] : sent_) fmt::print("{} {}\n", uid, at.nanos());
  }

 private:
  struct Watch {
    Feed feed;
    std::optional<size_t> node;  // only the pods of this one
    CondVar news;
    std::deque<FramePtr> queue;
  };

  void Accept() {
    while (!over_) {
      const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (fd < 0) continue;
      MutexLock lock(mutex_);
      open_.push_back(fd);
      connections_.emplace_back([this, fd] { Serve(fd); });
    }
  }

  void ChangeAll() {
    constexpr int kTick = 10;  // ms
    int ticks = 0;
    double owed = 0;
    while (!over_) {
      poll(nullptr, 0, kTick);
      MutexLock lock(mutex_);
      if (watches_.size() < 3) continue;
      for (owed += static_cast<double>(changes_) * kTick / 1000; owed >= 1; owed -= 1) {
        for (FramePtr& frame : cluster_.Change()) Tell(std::move(frame));
      }
      if (++ticks % (20'000 / kTick) != 0) continue;
      for (const Feed feed : {Feed::kPods, Feed::kSlices, Feed::kNodes}) {
        Tell(cluster_.Bookmark(feed, false));
      }
    }
  }

  void Tell(FramePtr frame) PHANTOMD_REQUIRES(mutex_) {
    for (Watch* watch : watches_) {
      if (watch->feed != frame->feed) continue;
      if (watch->node.has_value() && *watch->node != frame->node) continue;
      watch->queue.push_back(frame);
      watch->news.NotifyOne();
    }
  }

  void Serve(int fd) {
    std::string head;
    char chunk[4096];
    while (true) {
      const ssize_t count = recv(fd, chunk, sizeof(chunk), 0);
      if (count <= 0) break;
      head.append(chunk, static_cast<size_t>(count));
      if (head.find("\r\n\r\n") == std::string::npos) continue;
      const size_t from = head.find(' ') + 1;
      const std::string path = head.substr(from, head.find(' ', from) - from);
      head.clear();
      if (path == "/livez") {
        if (!Send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")) break;
      } else if (path.find("sendInitialEvents=true") != std::string::npos) {
        ServeWatch(fd, path);
        break;
      } else if (!Send(fd, "HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\n\r\n")) {
        break;
      }
    }
    close(fd);
    MutexLock lock(mutex_);
    std::erase(open_, fd);
  }

  void ServeWatch(int fd, const std::string& path) {
    Watch watch{path.find("/pods") != std::string::npos             ? Feed::kPods
                : path.find("/endpointslices") != std::string::npos ? Feed::kSlices
                                                                    : Feed::kNodes,
                {},
                {},
                {}};
    constexpr std::string_view kSelector = "spec.nodeName%3Dnode-";
    if (const size_t at = path.find(kSelector); at != std::string::npos) {
      watch.node = std::stoul(path.substr(at + kSelector.size()));
    }
    {
      MutexLock lock(mutex_);
      for (const FramePtr& frame : cluster_.Existing(watch.feed)) {
        if (!watch.node.has_value() || *watch.node == frame->node) watch.queue.push_back(frame);
      }
      watch.queue.push_back(cluster_.Bookmark(watch.feed, true));
      watches_.push_back(&watch);
    }
    bool well = Send(fd,
                     "HTTP/1.1 200 OK\r\nContent-Type: "
                     "application/vnd.kubernetes.protobuf;stream=watch\r\n"
                     "Connection: close\r\n\r\n");
    while (well && !over_) {
      std::deque<FramePtr> frames;
      {
        MutexLock lock(mutex_);
        while (watch.queue.empty() && !over_) watch.news.WaitFor(mutex_, std::chrono::seconds(1));
        frames.swap(watch.queue);
      }
      for (const FramePtr& frame : frames) {
        if (!frame->made_uid.empty()) {
          MutexLock lock(mutex_);
          sent_.emplace_back(frame->made_uid, clock_.Now());
        }
        if (!(well = Send(fd, frame->bytes))) break;
      }
    }
    MutexLock lock(mutex_);
    std::erase(watches_, &watch);
  }

  static bool Send(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  const size_t changes_;
  const SystemClock clock_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> over_ = false;
  Mutex mutex_;
  Cluster cluster_ PHANTOMD_GUARDED_BY(mutex_);
  std::vector<Watch*> watches_ PHANTOMD_GUARDED_BY(mutex_);
  std::vector<int> open_ PHANTOMD_GUARDED_BY(mutex_);
  std::list<std::thread> connections_ PHANTOMD_GUARDED_BY(mutex_);
  std::vector<std::pair<std::string, BootTime>> sent_ PHANTOMD_GUARDED_BY(mutex_);
  std::thread acceptor_;
  std::thread changer_;
};

size_t NumberOf(const char* text) {
  const std::string_view digits(text);
  size_t number = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), number);
  PHANTOMD_CHECK(error == std::errc() && end == digits.end() && number > 0);
  return number;
}

}  // namespace
}  // namespace phantomd::bench

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "cluster_server PODS SLICES NODES CHANGES-A-SECOND\n");
    return 2;
  }
  using phantomd::bench::NumberOf;
  {
    phantomd::bench::Server server(
        {NumberOf(argv[1]), NumberOf(argv[2]), NumberOf(argv[3]), NumberOf(argv[4])});
    fmt::print("{}\n", server.port());
    fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    server.PrintSent();
  }
  return 0;
}
