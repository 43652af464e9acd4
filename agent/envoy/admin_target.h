// AdminTarget: one proxy whose admin API is to be polled, as discovery found it.
#pragma once

#include <sys/types.h>

#include <string>

#include "agent/base/nouns.h"

namespace phantomd {

struct AdminTarget {
  Proxy proxy;
  pid_t pid = 0;                 // its Envoy process: namespace, root and working directory
  std::string bootstrap_path;    // -c / --config-path as given; empty: none
  std::string bootstrap_inline;  // --config-yaml; empty: none
};

// What EnvoyEdge is told. A target that is known already is replaced.
struct AdminChange {
  AdminTarget target;
  bool gone = false;  // only target.proxy.id is needed
};

}  // namespace phantomd
