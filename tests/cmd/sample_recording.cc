#include "tests/cmd/sample_recording.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/recording/writer.h"
#include "tests/wire/sample_report.h"

namespace phantomd::testing {
namespace {

const IpAddr kCatalog = IpAddr::V4(10, 1, 0, 1);

PodRef Catalog() {
  return {.uid = PodUid("uid-a"),
          .ns = "shop",
          .name = "catalog-a",
          .workload = {.ns = "shop", .kind = "Deployment", .name = "catalog"},
          .revision = "5b6d",
          .node_name = "node-1"};
}

Proxy Webapp() {
  return {.id = ProxyId("webapp/c0ffee"),
          .name = "shop/webapp-1",
          .role = ProxyRole::kSidecar,
          .netns_cookie = 4097,
          .process_ids = {4711},
          .admin_address = "127.0.0.1:15000",
          .process_start = At(1)};
}

Input Synced(Feed feed) { return {At(1.1), FeedChange{feed, FeedState::kSynced, {}}}; }

// Of the next revision: now it is known that this was a rollout.
Input SuccessorStarts(double observed) {
  PodChange pod{.pod = Catalog(), .ips = {IpAddr::V4(10, 1, 0, 2)}, .phase = PodPhase::kRunning};
  pod.pod.uid = PodUid("uid-b");
  pod.pod.name = "catalog-b";
  pod.pod.revision = "7d9f8c";
  pod.created = SampleReport().offset.ToWall(At(observed - 1));
  return {At(observed), pod};
}

Input PodStarts(double observed) {
  return {
      At(observed),
      PodChange{.pod = Catalog(), .ips = {kCatalog}, .phase = PodPhase::kRunning, .ready = true}};
}

// Its deletion was requested half a second before; its containers ended within that time.
Input PodIsGone(double observed) {
  const WallOffset offset = SampleReport().offset;
  return {At(observed), PodChange{.pod = Catalog(),
                                  .deleted = true,
                                  .ips = {kCatalog},
                                  .phase = PodPhase::kSucceeded,
                                  .deletion_requested = offset.ToWall(At(observed - 0.5)),
                                  .containers_finished = offset.ToWall(At(observed - 0.5))}};
}

Input Slice(double observed, bool listed) {
  SliceChange slice{.ns = "shop", .name = "catalog-x", .service = "catalog"};
  slice.ports = {{.name = "http", .port = 8080}};
  if (listed) slice.endpoints = {{.addresses = {kCatalog}, .pod_uid = Catalog().uid}};
  return {At(observed), slice};
}

Input Belief(double received) {
  BeliefSnapshot::Cluster cluster{.name = "outbound|8080||catalog.shop.svc.cluster.local",
                                  .service = "shop/catalog",
                                  .discovery = Discovery::kEds,
                                  .layer = Layer::kL4};
  cluster.endpoints = {{.address = {kCatalog, 8080}, .in_assignment = true, .in_host_set = true}};
  return {At(received), BeliefSnapshot{.proxy_id = Webapp().id,
                                       .requested = At(received - 0.002),
                                       .received = At(received),
                                       .complete = true,
                                       .clusters = {cluster}}};
}

Input Connect(uint16_t port, double started, double ended, Outcome outcome) {
  return {At(ended + 0.05), Attempt{.proxy_id = Webapp().id,
                                    .netns_cookie = 4097,
                                    .process_id = 4711,
                                    .initiator = Initiator::kProxy,
                                    .source = {IpAddr::V4(10, 1, 0, 20), port},
                                    .destination = {kCatalog, 8080},
                                    .started = At(started),
                                    .ended = At(ended),
                                    .outcome = outcome,
                                    .socket_cookie = port}};
}

}  // namespace

std::vector<Input> SampleRecording() {
  return {
      {At(1), Header{.offset = SampleReport().offset, .node_name = "node-1", .agent_version = "1"}},
      Synced(Feed::kPods),
      Synced(Feed::kSlices),
      Synced(Feed::kNodes),
      {At(1.2), ProxyChange{Webapp(), false}},
      PodStarts(5),
      Slice(5.1, true),
      Belief(6),
      Connect(40001, 10, 10.001, Outcome::kEstablished),
      Connect(40002, 11, 11.001, Outcome::kEstablished),
      Connect(40003, 12, 12.001, Outcome::kEstablished),
      Slice(20, false),
      PodIsGone(20.5),
      Belief(25),
      Connect(40004, 30, 31, Outcome::kAbandoned),
      Connect(40005, 32, 33, Outcome::kAbandoned),
      Belief(40),
      SuccessorStarts(41),
      Belief(50),
  };
}

std::string Recorded(const std::vector<Input>& inputs) {
  const int fd = memfd_create("recording", MFD_CLOEXEC);
  const int copy = dup(fd);
  {
    RecordWriter writer(fd, "recording");
    for (const Input& input : inputs) writer.Append(input);
    writer.Flush();
    EXPECT_TRUE(writer.status().ok()) << writer.status();
  }
  std::string out;
  char buffer[4096];
  for (ssize_t n = 0;
       (n = pread(copy, buffer, sizeof(buffer), static_cast<off_t>(out.size()))) > 0;) {
    out.append(buffer, static_cast<size_t>(n));
  }
  close(copy);
  return out;
}

}  // namespace phantomd::testing
