// SceneRun plays a Scene through an Engine and keeps every verdict.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/engine/engine.h"
#include "tests/testing/scene.h"

namespace phantomd::testing {

// The addresses of the pods that a rollout replaces and starts, in most scenes.
inline constexpr char kOld[] = "10.0.0.1";
inline constexpr char kNew[] = "10.0.0.2";

class SceneRun {
 public:
  explicit SceneRun(const Scene& scene, Engine::Options options = {});

  // As phantomctl replay does.
  SceneRun& Replay(const Scene& scene);
  SceneRun& Finish();

  // --- What came of it ---
  // The verdict on the n-th connection of the scene, from 0.
  const Connection& Of(uint64_t n) const;
  bool Judged(uint64_t n) const;
  std::string Verdicts() const;  // as text, in the order of judgement
  std::string ReportText() const;
  std::vector<Input> applied;
  std::vector<Connection> judged;
  std::unique_ptr<Engine> engine;
};

// "DEAD CERTAIN STALE_EDS ABANDONED L4".
std::string Summary(const Connection& connection);

}  // namespace phantomd::testing
