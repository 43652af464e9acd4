// libFuzzer's entry to the engine: whatever well-formed inputs the edges post, in whatever order
// their low marks let them through, nothing crashes, every attempt is counted once, figures are
// sums of their parts, a replay of what was applied says the same byte for byte, and what the
// engine exports can be told to another.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/base/check.h"
#include "agent/engine/engine.h"
#include "tests/fuzz/random_inputs.h"
#include "tests/fuzz/report_invariants.h"
#include "tests/testing/report_text.h"

namespace phantomd::fuzz {
namespace {

class Run {
 public:
  Run(const Header& header, Engine::Options options)
      : engine(
            header, BootTime::FromNanos(kStart), options,
            [this](const Input& input) { applied.push_back(input); },
            [this](const Connection& connection) {
              CheckVerdict(connection);
              PHANTOMD_CHECK(connection.sequence == ++judged);
            }) {}

  void Check() {
    const auto report = engine.MakeReport();
    CheckReport(*report);
    PHANTOMD_CHECK(report->status.attempts == judged);
  }

  std::vector<Input> applied;
  uint64_t judged = 0;
  Engine engine;
};

std::unique_ptr<Engine> TakenOver(const Engine& engine, Engine::Options options) {
  std::unique_ptr<Engine> out;
  engine.Export([&](const Input& input) {
    if (out == nullptr) {
      out = std::make_unique<Engine>(std::get<Header>(input.value), input.observed, options,
                                     nullptr, nullptr);
    } else {
      PHANTOMD_CHECK(out->Replay(input).ok());
    }
  });
  return out;
}

// Every attempt that was told has been counted, once.
void CheckAllCounted(const Engine& engine, uint64_t attempts) {
  const auto report = engine.MakeReport();
  CheckReport(*report);
  PHANTOMD_CHECK(report->status.held == 0);
  PHANTOMD_CHECK(report->status.attempts + report->status.not_judged == attempts);
}

void PostMark(Engine& engine, Edge edge, BootTime mark) { engine.Post({edge, mark}); }

}  // namespace
}  // namespace phantomd::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phantomd;
  using namespace phantomd::fuzz;
  ByteSource bytes(data, size);
  const Header header = SomeHeader(bytes);
  Engine::Options options;
  if (bytes.OneIn(4)) options = {.max_held = 3, .ring = 5, .max_metric_cells = 4};

  Run live(header, options);
  RandomInputs inputs(bytes);
  uint64_t attempts = 0;
  for (int i = 0; i < 1000 && !bytes.done(); ++i) {
    EdgePost post = inputs.Next();
    attempts += std::holds_alternative<Attempt>(std::get<Input>(post.value).value);
    live.engine.Post(std::move(post));
    const uint32_t what = bytes.Choose(8);
    if (what < 3) PostMark(live.engine, static_cast<Edge>(what), inputs.now());
    if (what == 4) live.engine.Advance();
    if (what == 5) live.Check();
    if (what == 6) {
      live.engine.Explain({IpAddr::V4(10, 0, 0, 1), 0}, inputs.now() - std::chrono::seconds(1));
    }
  }
  live.engine.Advance();
  live.engine.Finish();
  live.Check();
  CheckAllCounted(live.engine, attempts);

  // A replay says the same. An engine that takes over from one in mid-life goes on counting.
  Run replayed(header, options);
  std::unique_ptr<Engine> restored;
  const size_t half = live.applied.size() / 2;
  for (size_t i = 0; i < live.applied.size(); ++i) {
    if (i == half) restored = TakenOver(replayed.engine, options);
    PHANTOMD_CHECK(replayed.engine.Replay(live.applied[i]).ok());
    if (restored != nullptr) PHANTOMD_CHECK(restored->Replay(live.applied[i]).ok());
  }
  replayed.engine.Finish();
  PHANTOMD_CHECK(phantomd::testing::TextOf(*replayed.engine.MakeReport()) ==
                 phantomd::testing::TextOf(*live.engine.MakeReport()));
  if (restored != nullptr) {
    restored->Finish();
    CheckAllCounted(*restored, attempts);
  }
  return 0;
}
