// ClusterHistory: one cluster of one proxy, with every endpoint that it lists or is remembered to
// have listed.
//
// Service, discovery and layer are the latest told. Endpoints are sorted by address, with a digest
// of each address beside: they are 96 bytes apart, so that each step of a binary search would wait
// for memory, while the digests of a usual cluster lie in a few cache lines. A poll that does not
// mention the cluster confirms it, so what confirms it is kept by the proxy; only the last poll
// that listed the cluster itself is kept here, for the time after lost observations.
// Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"
#include "agent/belief/endpoint_history.h"
#include "agent/belief/name_pool.h"
#include "agent/belief/poll_log.h"
#include "agent/belief/snapshot.h"

namespace phantomd {

class ClusterHistory {
 public:
  using IpVisitor = std::function<void(const IpAddr&)>;
  using AddressVisitor = std::function<void(const SocketAddr&)>;

  explicit ClusterHistory(uint32_t name) : name_(name) {}

  uint32_t name() const { return name_; }
  uint32_t service() const { return service_; }
  Discovery discovery() const { return discovery_; }
  Layer layer() const { return layer_; }
  bool exists() const { return !removed_.is_set(); }
  BootTime removed() const { return removed_; }
  const Poll& listed() const { return listed_; }  // the last poll that spoke of the cluster itself
  size_t endpoints() const { return endpoint_count_; }  // listed now
  const std::vector<EndpointHistory>& all() const { return endpoints_; }
  const EndpointHistory* Find(const SocketAddr& address) const;
  // Those of the address with any port.
  std::span<const EndpointHistory> FindAll(const IpAddr& ip) const;

  // The cluster lists exactly what `told` (one snapshot's clusters of this name) hold. `appeared`
  // is called for each endpoint that was not listed before. Both say whether an endpoint came, went
  // or is held in another way.
  bool List(std::span<const BeliefSnapshot::Cluster* const> told, EndpointHistory::Change change,
            WallOffset offset, NamePool& names, const AddressVisitor& appeared);
  bool Remove(const EndpointHistory::Change& change);
  // The last poll spoke of the cluster after lost observations: it alone confirms what it told.
  void NoteUnchained() { unchained_.push_back(listed_.received); }

  // Forgets what ended before `before`; `vanished` is called for each address of which no port is
  // remembered any more.
  void Compact(BootTime before, const IpVisitor& vanished);

  // --- To tell it again ---
  // `received` of the polls that said something about the cluster that is still remembered.
  std::vector<BootTime> Told() const;
  // What the poll received at `received` told of it.
  BeliefSnapshot::Cluster AsToldAt(BootTime received, WallOffset offset,
                                   const NamePool& names) const;

 private:
  void Describe(const BeliefSnapshot::Cluster& told, NamePool& names);
  void Digest();  // call it after each change of endpoints_' addresses

  uint32_t name_;
  uint32_t service_ = 0;
  Discovery discovery_ = Discovery::kUnspecified;
  Layer layer_ = Layer::kUnspecified;
  Poll listed_;
  BootTime removed_;  // unset: it exists
  std::vector<BootTime> unchained_;
  size_t endpoint_count_ = 0;
  std::vector<EndpointHistory> endpoints_;
  std::vector<uint32_t> digests_;  // of each of endpoints_' addresses; none if they are too many
};

}  // namespace phantomd
