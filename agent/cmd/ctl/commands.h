// The commands of phantomctl: each asks the agents (or replays a recording), prints the answer on
// standard output and what went wrong on standard error, and returns the exit code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/cmd/ctl/agents.h"

namespace phantomd {

enum class Format { kTable, kWide, kJson, kYaml };

// Exit codes.
inline constexpr int kDone = 0;
inline constexpr int kAnswerIsAnError = 1;
inline constexpr int kUsage = 2;
inline constexpr int kSomeDidNotAnswer = 3;

struct CommandOptions {
  Agents::Options agents;
  Format format = Format::kTable;
  std::string filter;        // rollouts, connections
  std::string since, until;  // connections: times of the SYN
  uint32_t limit = 0;        // connections; 0: all
  bool follow = false;       // connections: as they are judged
  std::string rollout;       // rollout
  std::string address, at;   // explain
  std::string recording;     // replay
  bool verdicts = false;     // replay
};

int CommandStatus(const CommandOptions& options);
int CommandProxies(const CommandOptions& options);
int CommandRollouts(const CommandOptions& options);
int CommandRollout(const CommandOptions& options);
int CommandConnections(const CommandOptions& options);
int CommandFollowConnections(const CommandOptions& options);  // until the last stream ends
int CommandStale(const CommandOptions& options);
int CommandExplain(const CommandOptions& options);
int CommandReplay(const CommandOptions& options);

}  // namespace phantomd
