// The name of a feed as people read it: in answers, metrics and logs.
//
// A pure function.
#pragma once

#include "agent/lifecycle/changes.h"

namespace phantomd {

constexpr const char* NameOf(Feed feed) {
  switch (feed) {
    case Feed::kPods:
      return "pods";
    case Feed::kSlices:
      return "slices";
    case Feed::kNodes:
      return "nodes";
    case Feed::kUnspecified:
      break;
  }
  return "unspecified";
}

}  // namespace phantomd
