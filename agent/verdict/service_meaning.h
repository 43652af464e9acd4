// Which Service the proxy meant: the clusters through which a connection may have gone, and whether
// they mean a given pod.
//
// The clusters that list ip:port around the SYN are the candidates. Where the proxy counts connects
// per host, a cluster whose count stood still is out. A cluster that had dropped the address by
// then may have been used as well (the connection was under way, or a retry); it is the less
// credible, and longer than some seconds after the removal a count of another one excludes it.
// Example: clusters X and Y list the address, X counted 0 connects between the
// polls around the SYN and Y counted 3: the connection went through Y.
//
// The application's own connections (BYPASS) go through no cluster.
#pragma once

#include "absl/container/inlined_vector.h"
#include "agent/verdict/evidence.h"

namespace phantomd {

// The candidates, the most credible first. Never empty: a null entry stands for "no cluster that we
// know of", about which there is no opinion.
using Candidates = absl::InlinedVector<const ClusterEvidence*, 3>;
Candidates CandidateClusters(const Attempt& attempt, const Evidence& evidence,
                             Nanos dropped_memory);

// Whether the candidate means holders[holder]. A pod that no slice of the Service lists is not
// meant only if the slices could be read.
Meaning MeaningUnder(const ClusterEvidence* candidate, size_t holder, const Evidence& evidence);

}  // namespace phantomd
