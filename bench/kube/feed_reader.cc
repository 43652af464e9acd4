// Follows an API server as the agent does, into an engine, and tells when: the agent without probes
// and proxies.
//
//   feed_reader KUBECONFIG SCOPE NODE      SCOPE: cluster or endpointslices
//
// Prints "synced SECONDS BYTES" once all feeds are, with what the decoded values of all objects
// take if they are just kept; at the end of its standard input the instant at which each pod that
// came later was applied to the index, a line each: UID and CLOCK_BOOTTIME in ns.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "agent/base/strings.h"
#include "agent/cmd/daemon/news_marks.h"
#include "agent/cmd/daemon/round_timer.h"
#include "agent/engine/engine.h"
#include "agent/kube/api_feed.h"
#include "agent/kube/kube_edge.h"

namespace phantomd::bench {
namespace {

// What a value takes beside itself.
size_t Heap(const std::string& text) { return text.size() > 15 ? text.size() + 1 : 0; }
size_t Heap(const PodUid& uid) { return Heap(uid.value()); }
template <typename T>
size_t Heap(const std::vector<T>& values) {
  return values.capacity() * sizeof(T);
}
size_t PlainSize(const PodChange& change) {
  const PodRef& pod = change.pod;
  return sizeof(change) + Heap(pod.uid) + Heap(pod.ns) + Heap(pod.name) + Heap(pod.revision) +
         Heap(pod.node_name) + Heap(pod.workload.ns) + Heap(pod.workload.kind) +
         Heap(pod.workload.name) + Heap(change.ips) + Heap(change.departure_reason);
}
size_t PlainSize(const SliceChange& change) {
  size_t size = sizeof(change) + Heap(change.ns) + Heap(change.name) + Heap(change.service) +
                Heap(change.ports) + Heap(change.endpoints);
  for (const SliceChange::Endpoint& endpoint : change.endpoints) {
    size += Heap(endpoint.addresses) + Heap(endpoint.pod_uid);
  }
  return size;
}
size_t PlainSize(const NodeChange& change) {
  return sizeof(change) + Heap(change.name) + Heap(change.addresses) + Heap(change.pod_cidrs);
}

int Follow(const std::string& kubeconfig, const std::string& scope, const std::string& node) {
  const SystemClock clock;
  auto access = KubeconfigAccess(kubeconfig, "", clock);
  if (!access.ok()) {
    fmt::print(stderr, "{}\n", FromAbsl(access.status().message()));
    return 1;
  }
  const BootTime begun = clock.Now();
  Header header{.offset = clock.Offset(), .node_name = node};
  header.settings.pod_scope = scope;
  std::vector<std::pair<std::string, BootTime>> applied;
  int synced = 0;
  size_t plain = 0;
  Engine engine(
      header, begun, Engine::Options(),
      [&](const Input& input) {
        if (synced < 3) {
          std::visit(
              [&](const auto& value) {
                if constexpr (requires { PlainSize(value); }) plain += PlainSize(value);
              },
              input.value);
        }
        if (const auto* feed = std::get_if<FeedChange>(&input.value)) {
          synced += feed->state == FeedState::kSynced ? 1 : -1;
          if (synced == 3) {
            fmt::print("synced {:.2f} {}\n",
                       std::chrono::duration<double>(clock.Now() - begun).count(), plain);
            fflush(stdout);
          }
        }
        const auto* pod = std::get_if<PodChange>(&input.value);
        if (synced == 3 && pod != nullptr && !pod->deleted) {
          applied.emplace_back(pod->pod.uid.value(), clock.Now());
        }
      },
      Engine::JudgedSink());
  RoundTimer timer;
  NewsMarks marks;
  Mailbox<EdgePost> inbox(
      65'536, [&](const EdgePost& post) { return marks.IsUrgent(post); }, [&] { timer.Wake(); });
  KubeEdge edge(std::make_unique<FeedLoop>(ApiFeeds(scope == "endpointslices" ? node : "",
                                                    std::chrono::seconds(1), **access, clock, {}),
                                           header.offset, clock, inbox),
                inbox);
  std::atomic<bool> over = false;
  std::thread end([&] {
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    over = true;
    timer.Wake();
  });
  while (!over) {
    bool told = false;
    // The other edges have nothing to tell, and say so.
    const BootTime now = clock.Now();
    for (EdgePost& post : inbox.TakeAll()) {
      told |= std::holds_alternative<Input>(post.value);
      engine.Post(std::move(post));
    }
    engine.Post({Edge::kProbe, now});
    engine.Post({Edge::kEnvoy, now});
    engine.Advance();
    timer.Wait(told);
  }
  inbox.Close();
  edge.Stop();
  end.join();
  for (const auto& [uid, at] : applied) fmt::print("{} {}\n", uid, at.nanos());
  return 0;
}

}  // namespace
}  // namespace phantomd::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "feed_reader KUBECONFIG SCOPE NODE\n");
    return 2;
  }
  return phantomd::bench::Follow(argv[1], argv[2], argv[3]);
}
