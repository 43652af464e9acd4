#include "agent/engine/engine.h"

#include <utility>

#include "agent/engine/core.h"
#include "agent/engine/explain.h"
#include "agent/engine/input_merge.h"
#include "agent/engine/report_builder.h"
#include "fmt/format.h"

namespace phantomd {

class Engine::Impl {
 public:
  Impl(const Header& header, BootTime started, Options options, AppliedSink applied,
       JudgedSink judged)
      : core(header, started, options, std::move(judged)),
        started(started),
        applied_(std::move(applied)) {}

  void Apply(const Input& input) {
    if (applied_) applied_(input);
    last_applied_ = input.observed;
    core.Apply(input);
  }

  bool MarkNow() {
    // What was posted with this very stamp is not applied yet: the mark would say that it is.
    if (merge.HasInputUntil(core.now())) return false;
    merge.Released(core.now());
    if (core.now() > last_applied_) Apply({core.now(), ClockChange{core.offset()}});
    return true;
  }

  Core core;
  const BootTime started;
  InputMerge merge;
  bool live = false;
  BootTime last_applied() const { return last_applied_; }

 private:
  const AppliedSink applied_;
  BootTime last_applied_ = BootTime::Min();
};

Engine::Engine(const Header& header, BootTime started, Options options, AppliedSink applied,
               JudgedSink judged)
    : impl_(std::make_unique<Impl>(header, started, options, std::move(applied),
                                   std::move(judged))) {}

Engine::~Engine() = default;

void Engine::Post(EdgePost post) {
  impl_->live = true;
  if (!impl_->merge.Post(std::move(post))) impl_->core.CountOutOfOrder();
}

void Engine::Advance() {
  while (const std::optional<Input> input = impl_->merge.Next()) impl_->Apply(*input);
  const BootTime safe_until = impl_->merge.safe_until();
  if (safe_until != BootTime::Min() && safe_until != BootTime::Max()) {
    impl_->core.RunUntil(safe_until);
  }
}

bool Engine::Awaits(Edge edge) const { return impl_->merge.Awaits(edge); }

bool Engine::MarkNow() { return impl_->MarkNow(); }

absl::Status Engine::Replay(const Input& input) {
  if (std::holds_alternative<Header>(input.value)) {
    return absl::InvalidArgumentError("a second header: a recording has one, as its first input");
  }
  if (std::holds_alternative<Restored>(input.value) && input.observed != impl_->started) {
    return absl::InvalidArgumentError(
        fmt::format("a restored part observed at {} ns: it belongs to the export of {} ns, which "
                    "begins the recording",
                    input.observed.nanos(), impl_->started.nanos()));
  }
  if (input.observed < impl_->last_applied()) {
    return absl::InvalidArgumentError(
        fmt::format("an input observed at {} ns follows one observed at {} ns: inputs must be in "
                    "the order of observed_ns",
                    input.observed.nanos(), impl_->last_applied().nanos()));
  }
  impl_->Apply(input);
  return absl::OkStatus();
}

void Engine::Finish() {
  while (const std::optional<Input> input = impl_->merge.NextRegardless()) impl_->Apply(*input);
  if (impl_->live) impl_->MarkNow();
  impl_->core.Finish();
}

const PollDemand& Engine::demand() const { return impl_->core.demand(); }

std::shared_ptr<const Report> Engine::MakeReport() const {
  return BuildReport(impl_->core.knowledge());
}

AddressExplanation Engine::Explain(const SocketAddr& address, BootTime time) const {
  return ExplainAddress(impl_->core.knowledge(), address, time);
}

void Engine::Export(const std::function<void(const Input&)>& sink) const {
  impl_->core.Export(sink);
}

BootTime Engine::now() const { return impl_->core.now(); }

}  // namespace phantomd
