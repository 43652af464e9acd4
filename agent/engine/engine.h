// Engine orders what the edges learned in time, asks for verdicts when they are due, and publishes
// what is known.
//
// One core thread calls it. Inputs are applied in the order of `observed`, each once the low marks
// of all edges have passed it; before an input observed at o is applied, everything due before o is
// judged. So a verdict depends on the dated inputs alone: the same inputs in a replay give the same
// verdicts, whenever Advance() was called.
//
// An attempt is due judgement_delay after both its SYN and its outcome; three exceptions wait
// longer: behind a broken feed (up to max_gap_hold), a failed attempt to a withdrawn pod whose end
// is untold and a silent one to a live pod (up to max_hold), and an attempt for which a poll was
// asked. Example: judgement_delay 3 s, SYN at 10 s, outcome at 11 s: judged with everything
// observed before 14 s, and nothing else.
//
// Thread-compatible. Never reads a clock: Advance's argument is the clock.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "agent/base/boot_time.h"
#include "agent/engine/address_explanation.h"
#include "agent/engine/edge_post.h"
#include "agent/engine/input.h"
#include "agent/engine/poll_demand.h"
#include "agent/engine/report.h"

namespace phantomd {

class Engine {
 public:
  struct Options {
    size_t max_held =
        200'000;            // attempts that wait; beyond it the oldest is judged with what is known
    size_t ring = 100'000;  // judged connections kept
    size_t max_metric_cells = 20'000;
  };

  // `applied` sees every input in the order in which it is applied (what a recording holds);
  // `judged` sees every verdict, LIVE and EXTERNAL ones too. Either may be empty.
  using AppliedSink = std::function<void(const Input&)>;
  using JudgedSink = std::function<void(const Connection&)>;

  Engine(const Header& header, BootTime started, Options options, AppliedSink applied,
         JudgedSink judged);
  ~Engine();

  // --- Live: edges post, the core advances ---
  void Post(EdgePost post);
  // Applies every input that all low marks have passed and judges what is due.
  void Advance();
  // Whether what was posted waits for a later low mark of this edge.
  bool Awaits(Edge edge) const;
  // Makes an input of the instant up to which inputs have been applied, where the last one is
  // older and none of this instant is waiting: whoever is told the inputs again then knows, too,
  // that no news came until then. False: one is waiting, and what was judged until now rests on
  // more than the inputs so far.
  bool MarkNow();

  // --- Replay: inputs in the order of a recording (the header already given to the constructor)
  // ---
  absl::Status Replay(const Input& input);
  // The end of a recording: everything is judged, what lies behind the watermark as INFERRED.
  void Finish();

  // What the engine wants polled; changes only by Advance.
  const PollDemand& demand() const;

  std::shared_ptr<const Report> MakeReport() const;
  AddressExplanation Explain(const SocketAddr& address, BootTime time) const;  // port 0: any

  // Everything known, as the inputs that a new engine must be told to go on as if it had never
  // stopped: header first, then in the order of their original `observed`, then what was concluded.
  void Export(const std::function<void(const Input&)>& sink) const;

  BootTime now() const;  // the instant up to which inputs have been applied

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace phantomd
