// A second Lifecycle that was told the export of the first, and what two of them are compared by.
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "agent/lifecycle/lifecycle.h"
#include "fmt/format.h"

namespace phantomd::testing {

inline std::unique_ptr<Lifecycle> Replica(const Lifecycle& original, Lifecycle::Options options) {
  auto replica = std::make_unique<Lifecycle>(std::move(options), original.wall_offset());
  original.Export([&](BootTime observed, const auto& change) {
    std::visit([&](const auto& value) { replica->Apply(value, observed); }, change);
  });
  return replica;
}

// Every change with its pods by UID: handles differ between two indices.
inline std::vector<std::string> DescribeChanges(const Lifecycle& lifecycle, BootTime now) {
  std::vector<std::string> all;
  for (const WorkloadChange* change : lifecycle.Changes(now)) {
    std::string text =
        fmt::format("{} from {} started {} superseded {}:", change->name, change->from_revision,
                    change->started.nanos(), change->superseded.nanos());
    for (const PodHandle pod : change->pods) text += " " + lifecycle.Pod(pod)->uid.value();
    all.push_back(std::move(text));
  }
  return all;
}

inline std::vector<std::pair<BootTime, PodChange>> ExportedPods(const Lifecycle& lifecycle) {
  std::vector<std::pair<BootTime, PodChange>> pods;
  lifecycle.Export([&](BootTime observed, const auto& change) {
    if (const auto* pod = std::get_if<PodChange>(&change)) pods.emplace_back(observed, *pod);
  });
  return pods;
}

}  // namespace phantomd::testing
