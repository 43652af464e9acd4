#include "tests/world/score.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "agent/verdict/names.h"
#include "fmt/format.h"

namespace phantomd::world {
namespace {

constexpr Nanos kReplacedWithin = std::chrono::seconds(10);

size_t IndexOf(DestinationClass c) { return static_cast<size_t>(c); }

bool NeedsCause(DestinationClass c) { return c == DestinationClass::kWithdrawn || IsPhantom(c); }

std::string ChangeName(const Pod* pod) {
  return pod == nullptr || pod->departs_with == nullptr ? "" : pod->departs_with->name;
}

// Who began before the agent, or while it was blind, has its first departure, whose second is in
// the name, beyond its knowledge: the rest of the name must still be right.
bool SameChange(const Simulation& world, const Pod& pod, const std::string& said) {
  const Change& change = *pod.departs_with;
  if (said == change.name) return true;
  if (change.began > world.agent_started() && !world.InGap(change.began)) return false;
  const auto trim = [](const std::string& name) {
    return name.substr(0, name.size() - std::min<size_t>(name.size(), 16));
  };
  return trim(said) == trim(change.name);
}

class Scorer {
 public:
  Scorer(const Simulation& world, const FindingSink& sink)
      : world_(world), sink_(sink), report_(world.engine().MakeReport()) {}

  Tally Score() {
    absl::flat_hash_map<uint64_t, const Connection*> said;
    for (const Connection& connection : world_.judged()) {
      if (!said.emplace(connection.socket_cookie, &connection).second) ++tally_.unjudged;
    }
    for (const TrueAttempt& truth : world_.attempts()) {
      if (!truth.told) continue;
      const auto it = said.find(truth.attempt.socket_cookie);
      if (it == said.end()) {
        ++tally_.unjudged;
      } else {
        ScoreAttempt(truth, *it->second);
      }
    }
    for (const Change& change : world_.changes()) {
      tally_.rollouts +=
          change.departure == Departure::kRollout && change.last > world_.agent_started();
    }
    ScoreWindows();
    return tally_;
  }

 private:
  void Tell(Finding finding, const TrueAttempt* truth, const Connection* said, std::string text) {
    if (sink_) sink_({finding, world_, truth, said, std::move(text)});
  }

  void ScoreAttempt(const TrueAttempt& truth, const Connection& said) {
    const bool right = said.destination_class == truth.destination;
    const bool certain = said.certainty == Certainty::kCertain;
    ++tally_.attempts;
    ++tally_.by_class[IndexOf(truth.destination)];
    if (certain && !right) {
      ++tally_.certain_wrong;
      Tell(Finding::kCertainWrong, &truth, &said, "");
    }
    if (world_.InGap(truth.attempt.started)) return;
    ++tally_.said[IndexOf(truth.destination)][IndexOf(said.destination_class)][certain];
    const bool unknown = said.destination_class == DestinationClass::kUnknown;
    tally_.unknown.Add(unknown);
    if (unknown) Tell(Finding::kUnknown, &truth, &said, "");
    if (IsPhantom(truth.destination)) {
      tally_.recall.Add(right);
      if (!right) Tell(Finding::kMissed, &truth, &said, "");
    }
    if (IsPhantom(said.destination_class)) tally_.precision.Add(right);
    const bool inferred = said.certainty == Certainty::kInferred;
    tally_.inferred.Add(inferred);
    if (inferred) {
      tally_.inferred_right.Add(right);
      if (!right) Tell(Finding::kInferredWrong, &truth, &said, "");
    }
    if (right && NeedsCause(truth.destination)) ScoreStory(truth, said);
  }

  void ScoreStory(const TrueAttempt& truth, const Connection& said) {
    const bool cause = said.cause == truth.cause;
    tally_.causes.Add(cause);
    if (!cause) Tell(Finding::kCause, &truth, &said, "");
    const Pod* stale =
        truth.destination == DestinationClass::kWithdrawn ? truth.holder : truth.meant;
    if (stale == nullptr || stale->departs_with == nullptr || !world_.EverTold(*stale)) return;
    // In a gap, what came first and what replaced what is lost: a list has no order.
    const BootTime left =
        stale->deletion_requested.is_set() ? stale->deletion_requested : stale->died;
    if (world_.GapWithin(left, left + kReplacedWithin)) return;
    const auto it = report_->rollout_of.find(said.last_holder.pod.uid);
    const std::string name = it == report_->rollout_of.end() ? "" : it->second;
    const bool same = SameChange(world_, *stale, name);
    tally_.attribution.Add(same);
    if (!same) {
      Tell(Finding::kAttribution, &truth, &said,
           fmt::format("true {} of {}, said {} of {}", ChangeName(stale), stale->ref.uid.value(),
                       name, said.last_holder.pod.uid.value()));
    }
  }

  void ScoreWindows() {
    absl::flat_hash_map<std::string, const ProxyWindow*> reported;
    for (const RolloutReport& rollout : report_->rollouts) {
      for (const ProxyWindow& window : rollout.windows) {
        reported[rollout.name + " " + window.proxy_id.value()] = &window;
      }
    }
    const auto told = [this](const Pod& pod) { return world_.EverTold(pod); };
    for (const auto& [key, truth] : world_.windows().Windows(told)) {
      if (!truth.clear || !truth.closed.is_set() || truth.opened < world_.agent_started() ||
          world_.InGap(truth.opened) || world_.InGap(truth.closed)) {
        continue;
      }
      const auto it = reported.find(key.first + " " + key.second);
      const bool known = it != reported.end() && it->second->closed.is_set();
      tally_.window_known.Add(known);
      const std::string what =
          fmt::format("{} {}: true {:.3f} to {:.3f}", key.first, key.second,
                      SecondsOf(truth.opened - BootTime()), SecondsOf(truth.closed - BootTime())) +
          " (" + truth.pods + ")";
      if (!known) {
        Tell(Finding::kWindow, nullptr, nullptr,
             what + (it == reported.end() ? ", not reported" : ", reported open"));
        continue;
      }
      const ProxyWindow& window = *it->second;
      const Nanos off = window.closed - truth.closed;
      const bool inside = (off < Nanos(0) ? -off : off) <= window.closed_error + Nanos(1'000'000);
      tally_.window_narrow.Add(window.closed_error <= Nanos(50'000'000));
      tally_.window_true.Add(inside);
      if (!inside || window.closed_error > Nanos(50'000'000)) {
        Tell(Finding::kWindow, nullptr, nullptr,
             what + fmt::format(", said {:.3f} to {:.3f} ± {:.3f}{}",
                                SecondsOf(window.opened - BootTime()),
                                SecondsOf(window.closed - BootTime()),
                                SecondsOf(window.closed_error), inside ? "" : " WRONG"));
      }
    }
  }

  const Simulation& world_;
  const FindingSink& sink_;
  const std::shared_ptr<const Report> report_;
  Tally tally_;
};

}  // namespace

std::string NameOf(Finding finding) {
  static const char* const kNames[] = {"certain_wrong", "missed",      "inferred_wrong", "unknown",
                                       "cause",         "attribution", "window"};
  return kNames[static_cast<size_t>(finding)];
}

void Tally::Add(const Tally& other) {
  attempts += other.attempts;
  unjudged += other.unjudged;
  certain_wrong += other.certain_wrong;
  rollouts += other.rollouts;
  for (size_t i = 0; i < kClasses; ++i) {
    by_class[i] += other.by_class[i];
    for (size_t j = 0; j < kClasses; ++j) {
      for (size_t k = 0; k < 2; ++k) said[i][j][k] += other.said[i][j][k];
    }
  }
  recall.Add(other.recall);
  precision.Add(other.precision);
  inferred.Add(other.inferred);
  inferred_right.Add(other.inferred_right);
  unknown.Add(other.unknown);
  causes.Add(other.causes);
  attribution.Add(other.attribution);
  window_known.Add(other.window_known);
  window_narrow.Add(other.window_narrow);
  window_true.Add(other.window_true);
}

Tally ScoreOf(const Simulation& world, const FindingSink& sink) {
  return Scorer(world, sink).Score();
}

std::vector<std::string> Missed(const Tally& tally, const Limits& limits, double deviations) {
  std::vector<std::string> out;
  if (tally.certain_wrong > 0) {
    out.push_back(fmt::format("{} verdicts wrong while CERTAIN", tally.certain_wrong));
  }
  if (tally.unjudged > 0) {
    out.push_back(fmt::format("{} attempts without exactly one verdict", tally.unjudged));
  }
  const auto exceeds = [&](uint64_t cases, double allowed, double bunch) {
    const double chance = deviations * std::sqrt(std::max(allowed, 1.0) * bunch);
    return static_cast<double>(cases) > allowed + chance;
  };
  const auto at_least = [&](const char* what, const Share& share, double limit, double bunch = 1) {
    if (exceeds(share.of - share.hits, (1 - limit) * static_cast<double>(share.of), bunch)) {
      out.push_back(fmt::format("{} {:.2f} % of {}, at least {:.1f} % wanted", what,
                                share.value() * 100, share.of, limit * 100));
    }
  };
  const auto at_most = [&](const char* what, const Share& share, double limit) {
    if (exceeds(share.hits, limit * static_cast<double>(share.of), 1)) {
      out.push_back(fmt::format("{} {:.2f} % of {}, at most {:.1f} % wanted", what,
                                share.value() * 100, share.of, limit * 100));
    }
  };
  at_least("recall of phantoms", tally.recall, limits.recall);
  at_least("INFERRED right", tally.inferred_right, 0.94);
  at_most("share INFERRED", tally.inferred, limits.inferred_share);
  at_most("share UNKNOWN", tally.unknown, 0.001);
  at_least("causes right", tally.causes, 0.99);
  const double per_change = static_cast<double>(tally.attribution.of) /
                            static_cast<double>(std::max<uint64_t>(tally.rollouts, 1));
  at_least("rollout attribution", tally.attribution, limits.attribution, std::max(per_change, 1.0));
  at_least("window ends within 50 ms", tally.window_narrow, 0.80);
  at_least("window ends inside their half-width", tally.window_true, limits.window_true);
  return out;
}

}  // namespace phantomd::world
