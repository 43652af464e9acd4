// Predecessor: the agent that ran before this one, as far as its state tells, and the engine that
// goes on from it.
//
// State that cannot be used is set aside and logged with the reason; the agent then begins anew.
// What another agent holds, or what cannot be written, is an error.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "agent/base/clock.h"
#include "agent/engine/engine.h"
#include "agent/kube/inherited_feeds.h"
#include "agent/store/state_file.h"

namespace phantomd {

struct Predecessor {
  // It knows what the predecessor was told, and that all feeds are broken since.
  std::unique_ptr<Engine> engine;
  InheritedFeeds feeds;
  std::set<ProxyId> proxies;  // that ran
  BootTime until;             // the last that it was told
  bool ended = false;         // and that there was no more to tell
};

struct OpenedState {
  std::unique_ptr<StateFile> file;
  std::optional<Predecessor> predecessor;  // none: nothing was kept
};

struct StateRequest {
  std::string folder;
  StateOwner owner;
  Header header;  // of the agent that starts: its settings hold from now on
  const Clock* clock = nullptr;
  Nanos notice{0};  // as InheritedFeeds::Break
  // An engine that has been told nothing yet.
  std::function<std::unique_ptr<Engine>(const Header& header, BootTime started)> make_engine;
};

absl::StatusOr<OpenedState> OpenState(const StateRequest& request);

}  // namespace phantomd
