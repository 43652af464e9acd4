#include "tests/belief/belief_script.h"

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "agent/base/check.h"

namespace phantomd::testing {

BootTime At(double seconds) { return BootTime::FromNanos(std::llround(seconds * 1e9)); }
WallTime WallAt(double seconds) { return WallTime::FromNanos(std::llround(seconds * 1e9)); }

SocketAddr Address(std::string_view text) {
  const auto address = SocketAddr::Parse(text);
  PHANTOMD_CHECK(address.ok());
  return *address;
}

IpAddr Ip(std::string_view text) {
  const auto ip = IpAddr::Parse(text);
  PHANTOMD_CHECK(ip.ok());
  return *ip;
}

std::vector<BeliefSnapshot::Cluster> Clusters(std::string_view text) {
  std::vector<BeliefSnapshot::Cluster> clusters;
  std::stringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line, ';');) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    std::string name = line.substr(line.find_first_not_of(' '));
    name = name.substr(0, name.find(':'));
    BeliefSnapshot::Cluster& cluster = clusters.emplace_back();
    if (const size_t at = name.find('@'); at != std::string::npos) {
      cluster.updated = WallAt(std::strtod(name.c_str() + at + 1, nullptr));
      name = name.substr(0, at);
    }
    cluster.name = name;
    cluster.service = "shop/" + name;
    cluster.discovery = Discovery::kEds;
    std::stringstream words{line.substr(colon + 1)};
    for (std::string word; words >> word;) {
      BeliefSnapshot::Endpoint& endpoint = cluster.endpoints.emplace_back();
      endpoint.in_host_set = true;
      if (const size_t hash = word.find('#'); hash != std::string::npos) {
        endpoint.connects = std::strtoull(word.c_str() + hash + 1, nullptr, 10);
        word = word.substr(0, hash);
      }
      endpoint.in_assignment = word.back() != '*';
      endpoint.pending_removal = word.back() == '*';
      if (word.back() == '*') word.pop_back();
      endpoint.address = Address(word);
    }
  }
  return clusters;
}

BeliefSnapshot BeliefScript::Snapshot(double received) const {
  BeliefSnapshot snapshot;
  snapshot.proxy_id = proxy_;
  snapshot.requested = At(received - poll_seconds_);
  snapshot.received = At(received);
  return snapshot;
}

void BeliefScript::Complete(double received, std::string_view clusters) {
  BeliefSnapshot snapshot = Snapshot(received);
  snapshot.complete = true;
  snapshot.clusters = Clusters(clusters);
  belief_.Apply(snapshot);
}

void BeliefScript::Changed(double received, std::string_view clusters, std::string_view removed) {
  BeliefSnapshot snapshot = Snapshot(received);
  snapshot.clusters = Clusters(clusters);
  std::stringstream names{std::string(removed)};
  for (std::string name; names >> name;) snapshot.removed_clusters.push_back(name);
  belief_.Apply(snapshot);
}

void BeliefScript::Failed(double received, std::string error) {
  BeliefSnapshot snapshot = Snapshot(received);
  snapshot.error = std::move(error);
  belief_.Apply(snapshot);
}

}  // namespace phantomd::testing
