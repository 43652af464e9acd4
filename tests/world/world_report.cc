// world_report: simulates worlds from seeds, lets the engine judge every connection in them, and
// prints how that compares with the truth, a line per scenario. Exits 1 if a limit is missed.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "fmt/format.h"
#include "tests/world/score.h"
#include "tests/world/story.h"

namespace phantomd::world {
namespace {

struct Arguments {
  uint64_t seeds = 3;
  uint64_t first_seed = 1;
  std::string scenario;  // empty: all
  std::string show;      // a finding's name: print the first of its cases
  uint64_t show_count = 3;
  bool confusion = false;
};

const char kUsage[] =
    "usage: world_report [--seeds N] [--first_seed S] [--scenario NAME] [--confusion]\n"
    "                    [--show "
    "certain_wrong|missed|inferred_wrong|unknown|cause|attribution|window]\n"
    "                    [--show_count K]\n";

bool Read(int argc, char** argv, Arguments& out) {
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--confusion") {
      out.confusion = true;
      continue;
    }
    if (i + 1 >= argc) return false;
    const std::string value = argv[++i];
    if (flag == "--seeds") {
      out.seeds = std::stoull(value);
    } else if (flag == "--first_seed") {
      out.first_seed = std::stoull(value);
    } else if (flag == "--scenario") {
      out.scenario = value;
    } else if (flag == "--show") {
      out.show = value;
    } else if (flag == "--show_count") {
      out.show_count = std::stoull(value);
    } else {
      return false;
    }
  }
  return true;
}

std::string Percent(const Share& share) {
  return share.of == 0 ? "-" : fmt::format("{:.2f}", share.value() * 100);
}

void PrintHead() {
  fmt::print(
      "{:15} {:>8} {:>4} {:>7} {:>6} {:>6} {:>6} {:>6} {:>5} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} "
      "{:>6} "
      "{:>6} {:>6} {:>6}\n",
      "scenario", "attempts", "roll", "LIVE", "WITHDR", "DEAD", "REUSED", "EXTERN", "WRONG",
      "recall", "precis", "INFERR", "infOK", "UNKN", "cause", "attrib", "winEnd", "<=50ms",
      "halfOK");
}

void PrintLine(const std::string& name, const Tally& t) {
  fmt::print(
      "{:15} {:>8} {:>4} {:>7} {:>6} {:>6} {:>6} {:>6} {:>5} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} "
      "{:>6} "
      "{:>6} {:>6} {:>6}\n",
      name, t.attempts, t.rollouts, t.by_class[1], t.by_class[2], t.by_class[3], t.by_class[4],
      t.by_class[5], t.certain_wrong, Percent(t.recall), Percent(t.precision), Percent(t.inferred),
      Percent(t.inferred_right), Percent(t.unknown), Percent(t.causes), Percent(t.attribution),
      Percent(t.window_known), Percent(t.window_narrow), Percent(t.window_true));
  std::fflush(stdout);
}

void PrintConfusion(const Tally& tally) {
  static const char* const kNames[] = {"",       "LIVE",     "WITHDRAWN", "DEAD",
                                       "REUSED", "EXTERNAL", "UNKNOWN"};
  for (size_t i = 1; i < kClasses; ++i) {
    std::string line;
    for (size_t j = 1; j < kClasses; ++j) {
      const auto& [inferred, certain] = tally.said[i][j];
      if (inferred + certain > 0) {
        line += fmt::format("  {} {} certain, {} not", kNames[j], certain, inferred);
      }
    }
    if (!line.empty()) fmt::print("    true {:9} said{}\n", kNames[i], line);
  }
}

// Shares that are beyond the agent's knowledge in a scenario (without pods or slices to be seen)
// say nothing in the sum over all.
Tally WhatCounts(Tally tally, const Limits& limits) {
  if (limits.attribution == 0) tally.attribution = {};
  if (limits.inferred_share > Limits().inferred_share) tally.inferred = {};
  return tally;
}

int Main(int argc, char** argv) {
  Arguments arguments;
  if (!Read(argc, argv, arguments)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  uint64_t shown = 0;
  bool reached = true, any = false;
  Tally all, counted;
  PrintHead();
  for (const Scenario& scenario : Scenarios()) {
    if (!arguments.scenario.empty() && scenario.name != arguments.scenario) continue;
    any = true;
    Tally tally;
    for (uint64_t i = 0; i < arguments.seeds; ++i) {
      Simulation world(scenario, arguments.first_seed + i,
                       {.keep_inputs = !arguments.show.empty()});
      world.Run();
      tally.Add(ScoreOf(world, [&](const Found& found) {
        if (NameOf(found.finding) != arguments.show || shown >= arguments.show_count) return;
        ++shown;
        fmt::print("{}", TextOf(found));
      }));
    }
    PrintLine(scenario.name, tally);
    if (arguments.confusion) PrintConfusion(tally);
    // Of one scenario there are few cases of some kinds; the sum over all is held to the letter.
    for (const std::string& line : Missed(tally, scenario.limits, 2)) {
      fmt::print("    MISSED: {}\n", line);
      reached = false;
    }
    all.Add(tally);
    counted.Add(WhatCounts(tally, scenario.limits));
  }
  if (!any) {
    fmt::print(stderr, "no scenario is named {}\n", arguments.scenario);
    return 2;
  }
  PrintLine("all", all);
  if (arguments.scenario.empty()) {
    PrintLine("all, knowable", counted);
    for (const std::string& line : Missed(counted, {})) {
      fmt::print("    MISSED: {}\n", line);
      reached = false;
    }
  }
  return reached ? 0 : 1;
}

}  // namespace
}  // namespace phantomd::world

int main(int argc, char** argv) { return phantomd::world::Main(argc, argv); }
