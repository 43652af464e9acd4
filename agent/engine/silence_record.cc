#include "agent/engine/silence_record.h"

#include <algorithm>
#include <map>
#include <utility>

#include "agent/base/strings.h"

namespace phantomd {

SilenceRecord::OfNode& SilenceRecord::Node(std::string_view name) {
  const auto it = nodes_.find(ToAbsl(name));
  return it != nodes_.end() ? it->second : nodes_[std::string(name)];
}

void SilenceRecord::Answered(PodHandle pod, std::string_view node, BootTime answer) {
  OfPod& record = Node(node).pods[pod];
  record.last_answer = std::max(record.last_answer, answer);
}

void SilenceRecord::Unanswered(PodHandle pod, std::string_view node, BootTime syn) {
  OfPod& record = Node(node).pods[pod];
  record.last_silence = std::max(record.last_silence, syn);
}

void SilenceRecord::Apply(const NodeChange& change, BootTime observed) {
  OfNode& node = Node(change.name);
  if (change.ready && !change.deleted) {
    node.not_ready_since = BootTime();
  } else if (!node.not_ready_since.is_set()) {
    node.not_ready_since = observed;
  }
}

bool SilenceRecord::FellSilent(std::string_view node, BootTime t) const {
  const auto it = nodes_.find(ToAbsl(node));
  if (it == nodes_.end()) return false;
  const OfNode& record = it->second;
  if (!record.not_ready_since.is_set() || record.not_ready_since < t) return false;
  const BootTime earliest = record.not_ready_since - kNotice;
  if (t < earliest) return false;
  int silent = 0;
  for (const auto& [pod, of_pod] : record.pods) {
    if (of_pod.last_answer >= t) return false;
    silent += of_pod.silent() && of_pod.last_silence >= earliest ? 1 : 0;
  }
  return silent >= 2;
}

void SilenceRecord::Compact(BootTime horizon) {
  for (auto& [name, node] : nodes_) {
    absl::erase_if(node.pods, [&](const auto& entry) {
      return std::max(entry.second.last_answer, entry.second.last_silence) < horizon;
    });
  }
  // A node that has been gone or not ready since before the horizon has nothing left to explain.
  absl::erase_if(nodes_, [&](const auto& entry) {
    return entry.second.pods.empty() && entry.second.not_ready_since < horizon;
  });
}

void SilenceRecord::Export(const Lifecycle& lifecycle,
                           const std::function<void(NodeSilence)>& sink) const {
  std::map<std::string, NodeSilence> nodes;
  for (const auto& [name, node] : nodes_) {
    NodeSilence& told = nodes[name];
    told.node = name;
    told.not_ready_since = node.not_ready_since;
    for (const auto& [pod, record] : node.pods) {
      const PodRef* ref = lifecycle.Pod(pod);
      if (ref == nullptr) continue;
      told.pods.push_back({ref->uid, record.last_answer, record.last_silence});
    }
    std::sort(told.pods.begin(), told.pods.end(),
              [](const auto& a, const auto& b) { return a.uid < b.uid; });
  }
  for (auto& [name, told] : nodes) sink(std::move(told));
}

void SilenceRecord::Restore(const NodeSilence& silence, const Lifecycle& lifecycle) {
  OfNode& node = Node(silence.node);
  node.not_ready_since = silence.not_ready_since;
  node.pods.clear();
  for (const NodeSilence::OfPod& pod : silence.pods) {
    const PodHandle handle = lifecycle.FindPod(pod.uid);
    if (handle != PodHandle::kNone) node.pods[handle] = {pod.last_answer, pod.last_silence};
  }
}

}  // namespace phantomd
