#include "tests/engine/scene_run.h"

#include <algorithm>

#include "agent/base/check.h"
#include "agent/verdict/names.h"
#include "fmt/format.h"
#include "tests/testing/report_text.h"

namespace phantomd::testing {

SceneRun::SceneRun(const Scene& scene, Engine::Options options)
    : engine(std::make_unique<Engine>(
          scene.header, Seconds(0.5), options,
          [this](const Input& input) { applied.push_back(input); },
          [this](const Connection& connection) { judged.push_back(connection); })) {}

SceneRun& SceneRun::Replay(const Scene& scene) {
  for (const Scene::Event& event : scene.Events()) {
    PHANTOMD_CHECK(engine->Replay(event.input).ok());
  }
  return *this;
}

SceneRun& SceneRun::Finish() {
  engine->Finish();
  return *this;
}

bool SceneRun::Judged(uint64_t n) const {
  return std::any_of(judged.begin(), judged.end(),
                     [n](const Connection& c) { return c.socket_cookie == n + 1; });
}

const Connection& SceneRun::Of(uint64_t n) const {
  const auto it = std::find_if(judged.begin(), judged.end(),
                               [n](const Connection& c) { return c.socket_cookie == n + 1; });
  PHANTOMD_CHECK(it != judged.end());
  return *it;
}

std::string SceneRun::Verdicts() const {
  std::string out;
  for (const Connection& connection : judged) out += TextOf(connection) + "\n";
  return out;
}

std::string SceneRun::ReportText() const { return TextOf(*engine->MakeReport()); }

std::string Summary(const Connection& c) {
  std::string out(NameOf(c.destination_class));
  if (c.certainty != Certainty::kUnspecified) {
    out += c.certainty == Certainty::kCertain ? " CERTAIN" : " INFERRED";
  }
  if (c.cause != Cause::kUnspecified) out += fmt::format(" {}", NameOf(c.cause));
  out += fmt::format(" {}", NameOf(c.outcome));
  if (c.layer != Layer::kUnspecified) out += fmt::format(" {}", NameOf(c.layer));
  return out;
}

}  // namespace phantomd::testing
