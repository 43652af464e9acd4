#include "tests/world/agent_feed.h"

#include <algorithm>

namespace phantomd::world {
namespace {

constexpr Nanos kFeedDelay = std::chrono::seconds(2);  // what the agent is told to allow for
const char* const kOwnNode = "node-1";

}  // namespace

AgentFeed::AgentFeed(const Scenario& scenario, Agenda& agenda, Cluster& cluster, AgentInbox& inbox,
                     Random random)
    : scenario_(scenario),
      agenda_(agenda),
      cluster_(cluster),
      inbox_(inbox),
      random_(std::move(random)) {
  streams_[0].feed = Feed::kPods;
  streams_[1].feed = Feed::kSlices;
  streams_[2].feed = Feed::kNodes;
  streams_[1].enabled = scenario.knows_services;
  cluster_.Watch(this);
}

std::string AgentFeed::KeyOf(const Object& object) {
  if (const auto* pod = std::get_if<PodChange>(&object)) return pod->pod.uid.value();
  if (const auto* slice = std::get_if<SliceChange>(&object)) return slice->ns + "/" + slice->name;
  return std::get<NodeChange>(object).name;
}

AgentFeed::Object AgentFeed::Gone(Object object, BootTime not_before) {
  std::visit(
      [&](auto& change) {
        change.deleted = true;
        change.not_before = not_before;
      },
      object);
  return object;
}

bool AgentFeed::InScope(const PodChange& change) const {
  return !scenario_.endpointslices_scope || change.pod.node_name == kOwnNode;
}

void AgentFeed::Stored(const PodChange& change) {
  if (InScope(change)) Happened(Of(Feed::kPods), change);
}
void AgentFeed::Stored(const SliceChange& change) { Happened(Of(Feed::kSlices), change); }
void AgentFeed::Stored(const NodeChange& change) { Happened(Of(Feed::kNodes), change); }

void AgentFeed::Happened(Stream& stream, Object object) {
  if (!stream.connected) return;
  stream.last = std::max(stream.last + Nanos(1000), agenda_.now() + random_.Delay(0.02, 0.9, 0.95));
  agenda_.At(stream.last, [this, &stream, watch = stream.watch, object = std::move(object)] {
    if (watch == stream.watch) Deliver(stream, object);
  });
}

void AgentFeed::Deliver(Stream& stream, Object object) {
  if (const auto* pod = std::get_if<PodChange>(&object)) pods_told_.insert(pod->pod.uid);
  const bool deleted = std::visit([](const auto& change) { return change.deleted; }, object);
  if (deleted) {
    stream.known.erase(KeyOf(object));
  } else {
    stream.known[KeyOf(object)] = object;
  }
  std::visit([&](auto& change) { inbox_.Learn(Edge::kKube, std::move(change)); }, object);
}

std::vector<AgentFeed::Object> AgentFeed::Existing(Feed feed) {
  std::vector<Object> out;
  if (feed == Feed::kPods) {
    for (const Pod& pod : cluster_.pods()) {
      if (pod.exists && InScope(pod.stored)) out.push_back(pod.stored);
    }
  } else if (feed == Feed::kSlices) {
    for (const Service& service : cluster_.services()) {
      for (const SliceChange& slice : service.slices) out.push_back(slice);
    }
  } else {
    for (const Node& node : cluster_.nodes()) {
      if (!node.stored_deleted) out.push_back(cluster_.StoredNode(node));
    }
  }
  return out;
}

void AgentFeed::List(Stream& stream) {
  ++stream.watch;
  stream.connected = true;  // the watch goes on from where the list was taken
  stream.last = agenda_.now() + random_.Delay(0.08, 0.7, 0.8);
  agenda_.At(stream.last, [this, &stream, watch = stream.watch, listed = Existing(stream.feed)] {
    if (watch != stream.watch) return;
    std::map<std::string, Object> lost = stream.known;
    for (const Object& object : listed) {
      lost.erase(KeyOf(object));
      Deliver(stream, object);
    }
    for (auto& [key, object] : lost) Deliver(stream, Gone(object, stream.good_until));
    inbox_.Learn(Edge::kKube, FeedChange{stream.feed, FeedState::kSynced, {}});
    stream.broken = false;
    gaps_[stream.gap].second = agenda_.now();
  });
}

void AgentFeed::Start() {
  for (Stream& stream : streams_) {
    if (!stream.enabled) continue;
    stream.gap = gaps_.size();
    gaps_.push_back({BootTime::Min(), BootTime::Max()});
    agenda_.In(Span(random_.Uniform(0.01, 0.1)), [this, &stream] { List(stream); });
  }
}

void AgentFeed::Break(Nanos gap, bool all) {
  std::vector<Stream*> chosen;
  for (Stream& stream : streams_) {
    if (stream.enabled && stream.connected && !stream.broken) chosen.push_back(&stream);
  }
  if (chosen.empty()) return;
  if (!all) chosen = {random_.Any(chosen)};
  for (Stream* stream : chosen) {
    ++stream->watch;
    stream->connected = false;
    stream->broken = true;
    // The last answer to a probe of the watch's own connection, which is sent every second.
    stream->good_until = agenda_.now() - Span(random_.Uniform(0, 1));
    stream->gap = gaps_.size();
    gaps_.push_back({stream->good_until - kFeedDelay, BootTime::Max()});
    agenda_.In(Span(random_.Uniform(0.3, 2)), [this, stream] {
      inbox_.Learn(Edge::kKube, FeedChange{stream->feed, FeedState::kBroken, stream->good_until});
    });
    agenda_.In(Span(2) + gap, [this, stream] { List(*stream); });
  }
}

void AgentFeed::NetworkGone(const Pod& pod) {
  if (pod.ref.node_name != kOwnNode || !pod.died.is_set()) return;
  const PodEnd end{pod.ref.uid, {pod.ip}, pod.died, "last process"};
  agenda_.In(random_.Delay(0.05, 0.7, 0.5), [this, end] { inbox_.Learn(Edge::kProbe, end); });
}

}  // namespace phantomd::world
