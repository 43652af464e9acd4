#include "agent/ledger/names.h"

namespace phantomd {

std::string_view Name(Certainty value) {
  switch (value) {
    case Certainty::kUnspecified:
      return "CERTAINTY_UNSPECIFIED";
    case Certainty::kCertain:
      return "CERTAIN";
    case Certainty::kInferred:
      return "INFERRED";
  }
  return "UNRECOGNIZED";
}

std::string_view Name(UnknownReason value) {
  switch (value) {
    case UnknownReason::kUnspecified:
      return "UNKNOWN_REASON_UNSPECIFIED";
    case UnknownReason::kBeforeHorizon:
      return "BEFORE_HORIZON";
    case UnknownReason::kFeedGap:
      return "FEED_GAP";
    case UnknownReason::kStartRace:
      return "START_RACE";
    case UnknownReason::kRemoteCluster:
      return "REMOTE_CLUSTER";
  }
  return "UNRECOGNIZED";
}

std::string_view Name(Departure value) {
  switch (value) {
    case Departure::kUnspecified:
      return "DEPARTURE_UNSPECIFIED";
    case Departure::kRollout:
      return "ROLLOUT";
    case Departure::kScaleDown:
      return "SCALE_DOWN";
    case Departure::kEviction:
      return "EVICTION";
    case Departure::kCompleted:
      return "COMPLETED";
    case Departure::kDeleted:
      return "DELETED";
  }
  return "UNRECOGNIZED";
}

}  // namespace phantomd
