// Remnants: what a Lifecycle still knows because of news that it has forgotten, or decided in its
// time. Export tells the rest as changes; these follow, after the same Compact.
//
// Example: A held 10.0.0.1 until 20 s, B holds it since 30 s; Compact(25 s) forgets A. The changes
// of B alone would lead a new Lifecycle to believe that B was the first: AddressRemnants says that
// there was another. Pods go by their UIDs. Plain values.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/ids.h"
#include "agent/base/ip_addr.h"
#include "agent/base/nouns.h"
#include "agent/lifecycle/departure.h"

namespace phantomd {

// The first of all: what follows replaces what the new Lifecycle decided itself.
struct DepartureRemnants {
  struct Waiting {  // a departure that is not settled yet
    PodUid pod;
    BootTime told;

    friend bool operator==(const Waiting&, const Waiting&) = default;
  };
  struct Revision {  // one with pods alive
    WorkloadRef workload;
    std::string revision;
    WallTime newest_created;
    BootTime newest_told;

    friend bool operator==(const Revision&, const Revision&) = default;
  };
  std::vector<Waiting> waiting;
  std::vector<Revision> revisions;
  // Of workloads with waiting departures: who made up for one already, by UID.
  std::vector<PodUid> replacements;

  friend bool operator==(const DepartureRemnants&, const DepartureRemnants&) = default;
};

// One change, as it was decided; oldest first.
struct ChangeRemnant {
  std::string name;
  WorkloadRef workload;
  std::string from_revision;
  std::string to_revision;
  Departure departure = Departure::kUnspecified;
  BootTime started;
  BootTime superseded;
  WallTime first;  // of its departing pods
  WallTime last;
  std::vector<PodUid> pods;

  friend bool operator==(const ChangeRemnant&, const ChangeRemnant&) = default;
};

struct AddressRemnants {
  struct Address {
    IpAddr ip;
    bool several_pods = false;        // more than one pod is known to have held it
    bool history_incomplete = false;  // there may have been an earlier holder
    bool listed_with_pod = false;     // by a slice with a pod target, at any time

    friend bool operator==(const Address&, const Address&) = default;
  };
  bool forgot_addresses = false;  // whole ones
  std::vector<Address> addresses;

  friend bool operator==(const AddressRemnants&, const AddressRemnants&) = default;
};

using LifecycleRemnant = std::variant<DepartureRemnants, ChangeRemnant, AddressRemnants>;

}  // namespace phantomd
